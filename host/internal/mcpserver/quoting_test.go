package mcpserver_test

import (
	"reflect"
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// TestEveryAnswerThatQuotesAPageCanBeMarked: answers that are text alone are marked beside it, those of the debugger in
// a field.
func TestEveryAnswerThatQuotesAPageCanBeMarked(t *testing.T) {
	s := connect(t, enginetest.New(t, capture.Limits{}))
	for _, tool := range []string{"browser_snapshot", "browser_click"} { // no page can be read in this world, nor anything be done
		if r := call(t, s, tool, map[string]any{"ref": "e2"}); !r.IsError || r.Meta["page_text"] != report.Untrusted {
			t.Errorf("%s: error %v, %v", tool, r.IsError, r.Meta)
		}
	}
	if r := call(t, s, "checkpoint_list", nil); r.Meta["page_text"] != nil {
		t.Errorf("an answer without a word of a page is marked: %v", r.Meta)
	}
	for _, each := range engine.Tools {
		if each.Set != tool.Debug || each.Name == "snapshot_delete" || each.Name == "snapshot_clear" {
			continue
		}
		if _, has := reflect.TypeOf(each.Answer).Elem().FieldByName("PageText"); !has {
			t.Errorf("the answer of %s has no mark", each.Name)
		}
	}
}
