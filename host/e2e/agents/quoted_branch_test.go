package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/modelserver"
)

// TestABranchQuotesTheConversationOfAnotherAgent: where another one goes on, where Tidemark copies none of that agent, and where the chat is
// not known in this version.
// What was recorded is quoted, and nothing is written that the agent could misread.
func TestABranchQuotesTheConversationOfAnotherAgent(t *testing.T) {
	for _, one := range []struct {
		id, write, file, content string
		in                       string // the agent of the branch, which is named where it is another one
		chats                    string
		why                      string
	}{
		{"copilot", "create", "path", "file_text", "claude", "", "the conversation is one of copilot"},
		{"copilot", "create", "path", "file_text", "copilot", "", "Tidemark does not copy conversations of copilot"},
		{"gemini", "write_file", "file_path", "content", "gemini", filepath.Join(".gemini", "tmp", "*", "chats", "*"), "of the chat: "},
	} {
		t.Run(one.id+" in "+one.in, func(t *testing.T) {
			started := program(t, one.in)
			w := newWorld(t)
			o := w.prepared(one.id)
			if one.in == "gemini" {
				w.commands(geminiCommand)
			}
			server := modelserver.Start(t,
				modelserver.Turn{Text: "First.", Calls: []modelserver.Call{on("w1", one.write, one.file, filepath.Join(w.project, "page.js"), one.content, "let cart = 1\n")}},
				modelserver.Turn{Text: "All done."},
			)
			w.run(o.env(w, server.URL), program(t, o.program), append(slices.Clone(o.args), "Write a page, with "+secret)...)
			w.ended()
			moment := w.ofSource(records.FromEdit, 1)[0].ID
			before := whole(t, w.project)
			if one.chats != "" {
				chats, err := filepath.Glob(filepath.Join(w.home, one.chats))
				if err != nil || len(chats) == 0 {
					t.Fatalf("the chats are %q, %v", chats, err)
				}
				for _, chat := range chats {
					f, err := os.OpenFile(chat, os.O_APPEND|os.O_WRONLY, 0)
					if err == nil {
						_, err = fmt.Fprintln(f, `{"of":"the future"}`)
					}
					if err != nil {
						t.Fatal(err)
					}
					_ = f.Close()
				}
			}
			server = modelserver.Start(t, modelserver.Turn{Text: "I see."})
			env := o.env(w, server.URL)
			if one.in == "claude" {
				env = claudeEnv(filepath.Join(w.home, "claude"), server)
			}
			args := []string{"--moment", moment, "--name", "other-way", "--message", "Do it differently"}
			if one.id != one.in {
				args = append(args, "--agent", one.in)
			}
			b := w.branch(append(env, "PATH="+filepath.Dir(started)+":"+os.Getenv("PATH")), args...)
			log, _ := os.ReadFile(b.Agent.Log)
			if b.Agent.Name != one.in || b.Agent.Method != "context" || !strings.Contains(b.Agent.Why, one.why) {
				t.Errorf("the agent is %+v", b.Agent)
			}
			asked := server.Asked()
			if len(asked) != 1 {
				t.Fatalf("the model was asked %d times: %s", len(asked), log)
			}
			for text, want := range map[string]bool{
				"Write a page, with [masked]": true, "page.js ok": true, "Do it differently": true, "is quoted below": true, "The workspace is as of " + moment: true, b.Workspace: true, secret: false,
			} {
				if got := strings.Contains(asked[0], text); got != want {
					t.Errorf("the first request has %q: %t: %.4000s", text, got, asked[0])
				}
			}
			if left, _ := filepath.Glob(b.Workspace + ".*"); !slices.Equal(left, []string{b.Agent.Log}) {
				t.Errorf("beside the branch there is %q", left)
			}
			if after := whole(t, w.project); after != before {
				t.Errorf("the original workspace has changed:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}
