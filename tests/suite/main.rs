//! One integration binary, so that the library is linked once; each module is one kind of proof.

mod tidy;
