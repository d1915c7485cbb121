package act

import "encoding/json"

// Texts is an argument that is a string or a list of strings.
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
