package sourcemap

import (
	"strings"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/jsondepth"
)

// maxEvaluated limits the maps of code that one script evaluates.
const maxEvaluated = 1 << 12

// evaluatedName begins the names that webpack gives to the code of modules which a script evaluates.
const evaluatedName = "webpack-internal:///"

// IsEvaluated reports whether an address names code that a script of webpack's has as text and evaluates.
func IsEvaluated(address string) bool { return strings.HasPrefix(address, evaluatedName) }

// parseEvaluated parses an object of maps by the names of the code that they belong to. Those that are damaged are left out.
func parseEvaluated(address string, data []byte) (*Map, error) {
	if jsondepth.Exceeds(data, jsondepth.Most) || !gjson.ValidBytes(data) {
		return nil, damaged("the maps of evaluated code are not JSON")
	}
	all := &Map{evaluated: map[string]*Map{}, size: 200}
	gjson.ParseBytes(data).ForEach(func(name, of gjson.Result) bool {
		if len(name.Str) > maxName || !of.IsObject() {
			return true
		}
		if m, err := Parse(address, []byte(of.Raw)); err == nil {
			all.evaluated[strings.Clone(name.Str)] = m
			all.size += 100 + len(name.Str) + m.size
		}
		return len(all.evaluated) < maxEvaluated
	})
	return all, nil
}

// Evaluated returns the map of code that a script evaluates, by the name of the code. It is nil if the map is not one of such a
// script, or if the script has no such code.
func (m *Map) Evaluated(name string) *Map {
	if m == nil {
		return nil
	}
	return m.evaluated[name]
}
