package link_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/sourcemap"
)

func gzipped(t *testing.T, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestTheBrowserOfTheTabIsAskedForASourceMap(t *testing.T) {
	hub, store := newHub(t)
	p := connect(t, hub, store)
	p.send(hello)
	p.expect("welcome", nil)
	p.send(`{"type":"tabs","tabs":[{"id":7,"url":"http://localhost/","title":"","watched":true}]}`)
	p.send(events)
	p.expect("ack", nil)
	script := sourcemap.Script{Tab: store.HostTab("i", 7), URL: "http://localhost/app.js"}
	type result struct {
		address, data string
		err           error
	}
	ask := func(answer func(id any) string) result {
		t.Helper()
		got := make(chan result, 1)
		go func() {
			address, data, err := hub.SourceMap(context.Background(), script)
			got <- result{address, string(data), err}
		}()
		m := p.expect("request", map[string]any{"method": "source_map"})
		params, _ := m["params"].(map[string]any)
		if params["tab"] != 7.0 || params["url"] != script.URL || params["timeout_ms"] != 5000.0 || params["max_bytes"] != float64(32<<20) {
			t.Error(params)
		}
		p.send(answer(m["id"]))
		return <-got
	}
	with := func(data string) func(id any) string {
		return func(id any) string {
			return fmt.Sprintf(`{"type":"response","id":%v,"result":{"url":"http://localhost/app.js.map","data":%q}}`, id, data)
		}
	}
	if r := ask(with(gzipped(t, []byte(`{"version":3}`)))); r.err != nil || r.address != "http://localhost/app.js.map" || r.data != `{"version":3}` {
		t.Error(r)
	}
	for want, answer := range map[string]func(id any) string{
		"base64":         with("!"),
		"gzip":           with(base64.StdEncoding.EncodeToString([]byte("no gzip at all"))),
		"unexpected EOF": with(gzipped(t, []byte("cut short"))[:20]),
		"larger than":    with(gzipped(t, make([]byte, 33<<20))),
		"names no map": func(id any) string {
			return fmt.Sprintf(`{"type":"response","id":%v,"error":{"code":"unavailable","message":"names no map"}}`, id)
		},
		"cannot read": func(id any) string { return fmt.Sprintf(`{"type":"response","id":%v,"result":7}`, id) },
	} {
		if r := ask(answer); r.err == nil || !strings.Contains(r.err.Error(), want) {
			t.Errorf("%v, want %s", r.err, want)
		}
	}
	if _, _, err := hub.SourceMap(context.Background(), sourcemap.Script{Tab: 99, URL: script.URL}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	got := make(chan error, 1)
	go func() {
		_, _, err := hub.SourceMap(context.Background(), script)
		got <- err
	}()
	p.expect("request", nil)
	_ = p.conn.Close()
	if err := <-got; err == nil || !strings.Contains(err.Error(), "ended") {
		t.Error(err)
	}
}
