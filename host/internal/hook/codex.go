package hook

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"tidemark.dev/tidemark/installer/safefile"
)

// maxTail bounds what is read of the end of a record of Codex, in bytes.
const maxTail = 512 << 10

// recordedStatus returns the exit status that Codex's own record has of a call, nil where it has none yet. Codex writes it there
// before it runs the hook, which gets only the output.
func recordedStatus(record, call string) *int {
	if call == "" || !filepath.IsAbs(record) || !strings.HasPrefix(filepath.Base(record), "rollout-") {
		return nil
	}
	f, info, err := safefile.Open(record)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	tail := make([]byte, min(info.Size(), maxTail))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return nil
	}
	for _, line := range slices.Backward(bytes.Split(tail, []byte("\n"))) {
		if !bytes.Contains(line, []byte(call)) {
			continue
		}
		var l struct {
			Payload struct {
				Item struct {
					Type, ID string
					Exit     *int `json:"exit_code"`
				} `json:"item"`
			} `json:"payload"`
		}
		_ = json.Unmarshal(line, &l) // the first one may be cut, and others have no item
		if item := l.Payload.Item; item.Type == "CommandExecution" && item.ID == call && item.Exit != nil {
			return item.Exit
		}
	}
	return nil
}
