package link

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/protocol"
)

// Limits for fetching a source map: the time for script and map together, and the bytes of each.
const (
	mapTimeout = 5 * time.Second
	mapBytes   = 32 << 20
)

// SourceMap is a [sourcemap.Fetch]: the browser of the script's tab fetches the map with the page's permissions.
func (h *Hub) SourceMap(ctx context.Context, s sourcemap.Script) (string, []byte, error) {
	instance, tab, ok := h.store.BrowserTab(s.Tab)
	if !ok {
		return "", nil, errors.New("its tab is closed")
	}
	// The extension gives up at its own time limit. The extra time is for the transport.
	raw, err := h.Ask(ctx, instance, protocol.MethodSourceMap, protocol.SourceMapParams{Tab: tab, URL: s.URL, TimeoutMs: int(mapTimeout.Milliseconds()), MaxBytes: mapBytes, Evaluated: s.Evaluated, Served: s.Served}, mapTimeout+mapTimeout/4)
	var coded *protocol.Error
	if errors.As(err, &coded) && coded.Code == protocol.CodeNone {
		return "", nil, sourcemap.ErrNoMap
	}
	if err != nil {
		return "", nil, err
	}
	var result struct {
		URL  string `json:"url"`
		Data []byte `json:"data"` // decoded from Base64
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return "", nil, fmt.Errorf("cannot read the extension's answer: %w", err)
	}
	data, err := unpack(result.Data)
	if err != nil {
		return "", nil, fmt.Errorf("cannot unpack the extension's answer: %w", err)
	}
	return result.URL, data, nil
}

// unpack decompresses gzip data of at most mapBytes.
func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(io.LimitReader(r, mapBytes+1)); err != nil {
		return nil, err
	}
	if out.Len() > mapBytes {
		return nil, fmt.Errorf("it is larger than %d bytes", mapBytes)
	}
	return out.Bytes(), nil
}
