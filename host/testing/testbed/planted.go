package testbed

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Planted is a text of protocol/testdata/secrets.json: a secret with its location, or an innocent text that resembles
// one.
type Planted struct {
	ID, Channel, Text string
	// Secret is the part of Text that must never be reported, empty in an innocent text.
	Secret string
}

// PlantedTexts reads both lists from the file.
func PlantedTexts() (secrets, innocent []Planted, err error) {
	_, file, _, _ := runtime.Caller(0)
	data, err := os.ReadFile(filepath.Join(filepath.Dir(file), "../../../protocol/testdata/secrets.json"))
	if err != nil {
		return nil, nil, err
	}
	var all struct{ Secrets, Innocent []Planted }
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, nil, err
	}
	for _, list := range [][]Planted{all.Secrets, all.Innocent} {
		for i := range list {
			list[i].Text = strings.ReplaceAll(list[i].Text, "{}", "") // so that no secret scanner flags the file
		}
	}
	return all.Secrets, all.Innocent, nil
}
