package link_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemark.dev/tidemark/protocol"
)

func TestAPageIsAskedOfTheBrowserThatShowsIt(t *testing.T) {
	hub, store := newHub(t)
	p := connect(t, hub, store)
	p.send(hello)
	p.expect("welcome", nil)
	params := protocol.AriaParams{Tab: 70, TimeoutMs: 1000}
	if _, err := hub.Aria(context.Background(), "another", params); err == nil || !strings.Contains(err.Error(), "not connected") {
		t.Errorf("of a browser that is not there: %v", err)
	}
	for _, c := range []struct{ answer, code string }{
		{`"result":{"frames":[{"document":"d","version":1,"root":1,"nodes":[{"i":1,"r":"document"}]}]}`, ""},
		{`"result":{"frames":"none"}`, protocol.CodeMalformed},
		{`"error":{"code":"unavailable","message":"The tab no longer exists."}`, protocol.CodeUnavailable},
		{`"error":{"code":"invalid","message":"A dialog is open (alert \"password: hunter2-planted\")."}`, protocol.CodeInvalid},
	} {
		answered := make(chan error, 1)
		go func() {
			r, err := hub.Aria(context.Background(), "i", params)
			if err == nil && r.Frames[0].Document != "d" {
				err = fmt.Errorf("%+v", r)
			}
			answered <- err
		}()
		m := p.expect("request", map[string]any{"method": protocol.MethodAria})
		p.send(fmt.Sprintf(`{"type":"response","id":%v,%s}`, m["id"], c.answer))
		err := <-answered
		var coded *protocol.Error
		if c.code == "" && err != nil || c.code != "" && (!errors.As(err, &coded) || coded.Code != c.code) {
			t.Errorf("%s: %v", c.answer, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a secret is in %v", err)
		}
	}
}
