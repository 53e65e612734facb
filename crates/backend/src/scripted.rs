//! A model that reads its answers from a file, for demos and tests. It says so wherever it is named.
