package protocol

import _ "embed"

// RedactionRules is redaction.json: what counts as a secret. Package redact and the extension's
// redact/redact.ts read the same file.
//
//go:embed redaction.json
var RedactionRules []byte
