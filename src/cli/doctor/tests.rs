//! Hosts whose files are damaged: whatever is in them, there is a diagnosis.
