//! Running commands: their output is captured, and no process survives their end.

mod disk;
mod job;
mod output;
mod shapes;
mod tasks;
mod terminal;
