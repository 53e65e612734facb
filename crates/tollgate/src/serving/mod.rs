//! What `tollgate serve` is made of: a model, the faces in front of it, and what clients need to know.

pub(crate) mod backend;
pub(crate) mod faces;
pub(crate) mod home;
pub(crate) mod welcome;
