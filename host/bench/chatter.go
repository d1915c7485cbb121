package main

import (
	"io"
	"net/http"

	"github.com/coder/websocket"

	"tidemark.dev/tidemark/host/testing/cases"
)

// talkative has a case happen on a page that chatters: a framework's and a development server's logs,
// an API that is polled, a socket with a frame now and then.
func talkative(c cases.Case) cases.Case {
	serve := c.Serve
	c.Page += "<script>" + chatter + "</script>"
	c.Serve = func(mux *http.ServeMux) {
		if serve != nil {
			serve(mux)
		}
		mux.HandleFunc("/chatter/poll", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"unread":3,"error":null}`)
		})
		mux.HandleFunc("/chatter/live", func(w http.ResponseWriter, r *http.Request) {
			conn, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			defer func() { _ = conn.CloseNow() }()
			for {
				if _, _, err := conn.Read(r.Context()); err != nil {
					return
				}
				if conn.Write(r.Context(), websocket.MessageText, []byte(`{"type":"price","id":7,"price":12.5,"errors":[]}`)) != nil {
					return
				}
			}
		})
	}
	return c
}

// chatter leaves the page quiet for longer than it takes to settle. It ends where the page forbids it.
const chatter = `
(() => {
  console.debug('[vite] connecting...'); console.debug('[vite] connected.');
  console.info('Download the React DevTools for a better development experience: https://react.dev/link/react-devtools');
  console.log('[store] hydrated', {items: 12, error: null});
  const poll = () => fetch('/chatter/poll?at=' + Date.now()).then((r) => r.json()).then((d) => console.log('[poll] unread', d.unread), () => {});
  const socket = new WebSocket(location.origin.replace('http', 'ws') + '/chatter/live');
  const beat = () => { if (socket.readyState === 1) socket.send('{"type":"ask"}') };
  const timers = [setInterval(poll, 900), setInterval(beat, 250)];
  poll();
  document.addEventListener('securitypolicyviolation', () => timers.forEach(clearInterval));
})()`
