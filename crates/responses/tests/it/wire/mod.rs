//! The wire format of the Responses API: what is read of requests, and what is written of answers.

mod choices;
mod clients;
mod events;
mod fields;
mod frames;
mod items;
mod objects;
mod options;
mod playing;
mod properties;
mod reading;
mod tools;
