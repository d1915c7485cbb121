package fork

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"time"

	"tidemark.dev/tidemark/installer/safefile"
)

// Tokens are what a model read and wrote.
type Tokens struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

// maxLine bounds a line of a record whose tokens are counted, in bytes. A longer one has none.
const maxLine = 64 << 20

// Spent returns the tokens that an agent's record counts after a time, nil where it counts none. It knows the records of Claude
// Code, which count each message, and those of Codex, which count the whole so far.
func Spent(record string, since time.Time) (*Tokens, error) {
	f, info, err := safefile.Open(record)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewScanner(io.LimitReader(f, min(info.Size(), maxTranscript)))
	in.Buffer(nil, maxLine)
	var sum, before, whole Tokens
	messages := map[string]Tokens{} // several lines have a part of one
	for in.Scan() {
		var line struct {
			Timestamp time.Time
			Message   struct {
				ID    string
				Usage struct {
					Input   int `json:"input_tokens"`
					Created int `json:"cache_creation_input_tokens"`
					Cached  int `json:"cache_read_input_tokens"`
					Output  int `json:"output_tokens"`
				}
			}
			Payload struct {
				Info struct {
					Total struct {
						Input  int `json:"input_tokens"`
						Output int `json:"output_tokens"`
					} `json:"total_token_usage"`
				}
			}
		}
		if json.Unmarshal(in.Bytes(), &line) != nil {
			continue // of a form that is not known
		}
		after := line.Timestamp.After(since)
		if u := line.Message.Usage; after && line.Message.ID != "" {
			messages[line.Message.ID] = Tokens{u.Input + u.Created + u.Cached, u.Output}
		}
		if total := Tokens(line.Payload.Info.Total); total != (Tokens{}) {
			if whole = total; !after {
				before = total
			}
		}
	}
	for _, m := range messages {
		sum.Input, sum.Output = sum.Input+m.Input, sum.Output+m.Output
	}
	sum.Input, sum.Output = sum.Input+whole.Input-before.Input, sum.Output+whole.Output-before.Output
	if err := in.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, err
	}
	if sum == (Tokens{}) {
		return nil, nil
	}
	return &sum, nil
}
