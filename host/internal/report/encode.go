package report

import (
	"bytes"
	"encoding/json"
	"strconv"

	"tidemark.dev/tidemark/host/internal/tokens"
)

// tokenCount is how a report's JSON begins its count, before it is counted. No text within can look like it: the
// quotes of a text are escaped.
const tokenCount = `"token_count":0`

// CountTokens sets TokenCount, the estimate of package tokens for the report's JSON. It comes last: what [Encode] writes
// of the report from now on is what was counted.
func (r *Report) CountTokens() {
	r.TokenCount, r.encoded = 0, nil
	data, err := Encode(r)
	if err != nil {
		return // a report of plain values always marshals
	}
	r.TokenCount = tokens.Estimate(data) // a count of up to three digits is one token, as the zero is
	before, after, _ := bytes.Cut(data, []byte(tokenCount))
	counted := append(make([]byte, 0, len(data)+8), before...)
	counted = strconv.AppendInt(append(counted, tokenCount[:len(tokenCount)-1]...), int64(r.TokenCount), 10)
	r.encoded = append(counted, after...)
}

// Encode is an answer's JSON as every surface writes it: without insignificant white space, and
// without the escapes that only HTML needs, which an agent would pay for.
func Encode(answer any) ([]byte, error) {
	if r, ok := answer.(*Report); ok && r != nil && r.encoded != nil {
		return r.encoded, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
