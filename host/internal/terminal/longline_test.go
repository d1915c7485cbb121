//go:build !windows

package terminal_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/xpty"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/terminal"
)

// TestALineWithoutEndIsRecordedWithinBounds has a program that prints one line of 8 MB, or of as many bytes as TIDEMARK_TEST_LINE says
// (1000000000). The terminal shows all of it. The recording has its beginning, its last word, and how many bytes are missing.
func TestALineWithoutEndIsRecordedWithinBounds(t *testing.T) {
	size := 8_000_000
	if s := os.Getenv("TIDEMARK_TEST_LINE"); s != "" {
		var err error
		if size, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	outer, err := xpty.NewUnixPty(100, 30)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "begin", " end\r\n"
	want := len(begin) + size + len(end)
	shown := make(chan error, 1)
	go func() {
		_, err := io.CopyN(io.Discard, outer.Master(), int64(want))
		shown <- err
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	store := recording.Store{Dir: filepath.Join(t.TempDir(), "r")}
	status, err := terminal.Run(t.Context(), terminal.Options{
		Args: []string{"sh", "-c", fmt.Sprintf(`printf begin; head -c %d /dev/zero | tr '\0' x; echo " end"`, size)}, Dir: t.TempDir(), Store: store, Redactor: redact.Default(),
		Allowed: func(string) (bool, error) { return true, nil }, In: outer.Slave(), Out: outer.Slave(),
	})
	if err != nil || status != 0 {
		t.Fatal(status, err)
	}
	if err := <-shown; err != nil {
		t.Fatal("the terminal did not show all of it:", err)
	}
	_ = outer.Close()
	runtime.ReadMemStats(&after)
	if grown := (int64(after.HeapSys) - int64(before.HeapSys)) >> 20; grown > 64 {
		t.Errorf("the heap grew by %d MiB", grown)
	}
	r, err := store.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var output strings.Builder
	missing := 0
	for e, err := range r.Events(0) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Code {
		case recording.Output:
			output.Write(e.Data)
		case recording.Dropped:
			var g recording.Gap
			if err := json.Unmarshal(e.Data, &g); err != nil {
				t.Fatal(err)
			}
			missing += int(g.Bytes)
		}
	}
	if got := output.String(); len(got)+missing != want || !strings.HasPrefix(got, begin+"x") || !strings.HasSuffix(got, strings.TrimSpace(end)+"\r\n") || len(got) > 8<<20 {
		t.Errorf("%d bytes are recorded and %d missing, of %d", len(got), missing, want)
	}
}
