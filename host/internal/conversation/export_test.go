package conversation

// Parsers are those of transcripts, for tests.
var Parsers = parsers
