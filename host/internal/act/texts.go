package act

import (
	"encoding/json"
	"fmt"

	"tidemark.dev/tidemark/protocol"
)

// Texts is an argument that is one text or a list of them.
type Texts []string

// UnmarshalJSON reads a string or a list of strings.
func (t *Texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = Texts{one}
		return nil
	}
	var list []string
	err := json.Unmarshal(data, &list)
	*t = list
	return err
}

// dialogText is what a dialog asks.
func dialogText(d *protocol.ActDialog) string {
	text := fmt.Sprintf("(%s): %q", d.Kind, d.Message)
	if d.Default != "" {
		text += fmt.Sprintf(", with %q in its field", d.Default)
	}
	return text
}
