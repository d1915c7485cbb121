package event

import (
	"strings"

	"github.com/tidwall/gjson"
)

func (r *reader) console(obj gjson.Result) Event {
	e := &Console{}
	level := ""
	seenText := false
	r.each(obj, func(name string, v gjson.Result) {
		switch name {
		case "level":
			level = v.String()
		case "via":
			e.Via = r.plain(name, v)
		case "category":
			e.Category = r.plain(name, v)
		case "text":
			e.Text, seenText = r.text(name, v, MaxText), true
			if len(v.Str) > MaxText {
				e.Length = len(v.Str)
			}
		case "length":
			e.Length = int(r.count(name, v))
		case "url":
			e.URL = r.url(name, v)
		case "line":
			e.Line = int(r.count(name, v))
		case "column":
			e.Column = int(r.count(name, v))
		case "stack":
			for _, line := range v.Array() {
				if len(e.Stack) == MaxStack {
					break
				}
				e.Stack = append(e.Stack, r.line(name, line, MaxShort))
			}
		case "request":
			e.Request = r.plain(name, v)
		case "target":
			e.Target = r.plain(name, v)
		}
	})
	if !seenText {
		r.fail("text", "a string")
	}
	var ok bool
	if e.Level, ok = ParseLevel(level); !ok {
		oneOf(r, "level", level, levelNames[:]...)
	}
	oneOf(r, "via", e.Via, "console", "exception", "rejection", "browser")
	return e
}

func (r *reader) request(obj gjson.Result) Event {
	e := &Request{}
	r.each(obj, func(name string, v gjson.Result) {
		switch name {
		case "id":
			e.ID = r.plain(name, v)
		case "method":
			e.Method = r.plain(name, v)
		case "url":
			e.URL = r.url(name, v)
		case "resource":
			e.Resource = r.plain(name, v)
		}
	})
	r.needed("id", e.ID)
	r.needed("method", e.Method)
	r.needed("url", e.URL)
	return e
}

func (r *reader) needed(name, v string) {
	if v == "" {
		r.fail(name, "a string that is not empty")
	}
}

func (r *reader) network(obj gjson.Result) Event {
	e := &Network{}
	r.each(obj, func(name string, v gjson.Result) {
		switch name {
		case "id":
			e.ID = r.plain(name, v)
		case "method":
			e.Method = r.plain(name, v)
		case "url":
			e.URL = r.url(name, v)
		case "resource":
			e.Resource = r.plain(name, v)
		case "status":
			if e.Status = int(r.count(name, v)); e.Status > 999 {
				r.fail(name, "an HTTP status")
			}
		case "error":
			e.Error = r.line(name, v, MaxShort)
		case "canceled":
			e.Canceled = r.flag(name, v)
		case "cached":
			e.Cached = r.flag(name, v)
		case "stream":
			e.Stream = r.flag(name, v)
		case "backfilled":
			e.Backfilled = r.flag(name, v)
		case "started":
			e.Started = r.count(name, v)
		case "duration":
			e.Duration = r.number(name, v)
		case "mime":
			e.Mime = r.plain(name, v)
		case "size":
			e.Size = r.count(name, v)
		case "request_headers":
			e.RequestHeaders = r.headers(name, v)
		case "response_headers":
			e.ResponseHeaders = r.headers(name, v)
		case "request_body":
			e.RequestBody = r.body(name, v)
		case "response_body":
			e.ResponseBody = r.body(name, v)
		case "body_note":
			e.BodyNote = r.plain(name, v)
		case "target":
			e.Target = r.plain(name, v)
		}
	})
	r.needed("id", e.ID)
	r.needed("method", e.Method)
	r.needed("url", e.URL)
	return e
}

func (r *reader) websocket(obj gjson.Result) Event {
	e := &WebSocket{}
	r.each(obj, func(name string, v gjson.Result) {
		switch name {
		case "id":
			e.ID = r.plain(name, v)
		case "url":
			e.URL = r.url(name, v)
		case "op":
			e.Op = r.plain(name, v)
		case "text":
			e.Text = r.text(name, v, MaxFrame)
		case "size":
			e.Size = int(r.count(name, v))
		case "binary":
			e.Binary = r.flag(name, v)
		case "code":
			e.Code = int(r.count(name, v))
		case "reason":
			e.Reason = r.line(name, v, MaxShort)
		case "leaving":
			e.Leaving = r.flag(name, v)
		}
	})
	r.needed("id", e.ID)
	r.needed("url", e.URL)
	oneOf(r, "op", e.Op, "open", "sent", "received", "close", "error")
	e.Bad = e.Op == "error" || (e.Op == "received" || e.Op == "sent") && saysError(e.Text)
	return e
}

// saysError reports whether a frame is JSON with a truthy "error" or a "type" of "error".
func saysError(s string) bool {
	if !strings.HasPrefix(s, "{") || !strings.Contains(s, `error`) {
		return false
	}
	if gjson.Get(s, "type").Str == "error" {
		return true
	}
	switch v := gjson.Get(s, "error"); v.Type {
	case gjson.True, gjson.JSON:
		return true
	case gjson.String:
		return v.Str != ""
	case gjson.Number:
		return v.Num != 0
	default:
		return false
	}
}

func (r *reader) action(obj gjson.Result) Event {
	e := &Action{}
	r.each(obj, func(name string, v gjson.Result) {
		switch name {
		case "action":
			e.Type = r.plain(name, v)
		case "target":
			e.Target = r.line(name, v, MaxShort)
		case "selector":
			e.Selector = r.line(name, v, MaxShort)
		case "value":
			e.Value = r.text(name, v, MaxShort)
		case "frame":
			e.Frame = int(r.int(name, v))
		}
	})
	oneOf(r, "action", e.Type, "click", "type", "select", "submit", "key")
	return e
}

func (r *reader) element(obj gjson.Result) Event {
	e := &Element{}
	r.each(obj, func(name string, v gjson.Result) {
		switch name {
		case "op":
			e.Op = r.plain(name, v)
		case "frame":
			e.Frame = int(r.int(name, v))
		case "document":
			e.Document = r.plain(name, v)
		case "id":
			e.ID = int(r.int(name, v))
		case "selector":
			e.Selector = r.line(name, v, MaxShort)
		case "text":
			e.Text = r.text(name, v, MaxShort)
		}
	})
	oneOf(r, "op", e.Op, "appeared", "changed", "gone", "reset")
	return e
}

func (r *reader) navigation(obj gjson.Result) Event {
	e := &Navigation{}
	r.each(obj, func(name string, v gjson.Result) {
		switch name {
		case "how":
			e.How = r.plain(name, v)
		case "url":
			e.URL = r.url(name, v)
		case "title":
			e.Title = r.line(name, v, MaxShort)
		}
	})
	r.needed("url", e.URL)
	oneOf(r, "how", e.How, "load", "reload", "history", "hash", "crash")
	return e
}

func (r *reader) gap(obj gjson.Result) Event {
	e := &Gap{}
	r.each(obj, func(name string, v gjson.Result) {
		switch name {
		case "from":
			e.From = r.count(name, v)
		case "to":
			e.To = r.count(name, v)
		case "reason":
			e.Reason = r.plain(name, v)
		case "dropped":
			e.Dropped = int(r.count(name, v))
		}
	})
	r.needed("reason", e.Reason)
	if e.From <= 0 || e.To != 0 && e.To < e.From {
		r.fail("from and to", "a span of time")
	}
	return e
}
