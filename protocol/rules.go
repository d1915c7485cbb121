package protocol

import _ "embed"

// RedactionRules is redaction.json: what counts as a secret. Package redact and the extension's
// redact/redact.ts read the same file.
//
//go:embed redaction.json
var RedactionRules []byte

// GitleaksRules is redaction-gitleaks.json: patterns of gitleaks for the formats of secrets, added to those of
// redaction.json.
//
//go:embed redaction-gitleaks.json
var GitleaksRules []byte
