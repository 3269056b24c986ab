"""The certificate: what may be concluded, as a document that is written, read back and checked."""
