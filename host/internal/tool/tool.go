// Package tool defines tools: named use cases that take JSON arguments and return an answer.
//
// It guarantees: an unknown argument, or one of the wrong type, is an error that names it and what the tool takes; an
// answer with [Quotes] is marked as quoting a page.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Tool is a use case of H that agents and the command line can call.
type Tool[H any] struct {
	Definition
	// Set is the tool's set, such as [Observe].
	Set  string
	call func(context.Context, H, *checkpoint.Client, []byte) (any, error)
	// Answer points to a zero value of the answer's type, for its schema.
	Answer any
}

// Call runs the tool with JSON arguments.
func (t *Tool[H]) Call(ctx context.Context, h H, client *checkpoint.Client, args []byte) (any, error) {
	return t.call(ctx, h, client, args)
}

// callKey is that of the ID in the context of a request.
type callKey struct{}

// WithCall returns the context of a request with an ID, "" for none. A program repeats a request that was not answered with the same ID.
func WithCall(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callKey{}, id)
}

// CallOf returns the ID of the request that a context is of, "" for none.
func CallOf(ctx context.Context) string {
	id, _ := ctx.Value(callKey{}).(string)
	return id
}

// New returns a tool that calls a method of H. Its arguments P and its answer A are JSON objects.
func New[H, P, A any](d Definition, call func(H, context.Context, *checkpoint.Client, P) (*A, error)) *Tool[H] {
	return &Tool[H]{Definition: d, Answer: new(A), call: func(ctx context.Context, h H, c *checkpoint.Client, args []byte) (any, error) {
		var params P
		if err := d.decode(args, &params); err != nil {
			return nil, err
		}
		answer, err := call(h, ctx, c, params)
		if err != nil {
			return nil, err // not a nil pointer inside an interface
		}
		if m, ok := any(answer).(marked); ok {
			m.mark()
		}
		return answer, nil
	}}
}

// Failed returns the code of an answer that reports a failure through a method Failed; "" for any other answer.
func Failed(answer any) usererr.Code {
	if a, ok := answer.(interface{ Failed() usererr.Code }); ok {
		return a.Failed()
	}
	return ""
}

// Of converts tools of G to tools of H, which contains a G.
func Of[H, G any](tools []*Tool[G], of func(H) G) []*Tool[H] {
	list := make([]*Tool[H], 0, len(tools))
	for _, t := range tools {
		list = append(list, &Tool[H]{Definition: t.Definition, Set: t.Set, Answer: t.Answer, call: func(ctx context.Context, h H, c *checkpoint.Client, args []byte) (any, error) {
			return t.call(ctx, of(h), c, args)
		}})
	}
	return list
}

// Nothing is the answer of a tool that returns nothing.
type Nothing struct{}

// In puts tools into a set and returns them.
func In[H any](set string, tools []*Tool[H]) []*Tool[H] {
	for _, t := range tools {
		t.Set = set
	}
	return tools
}

// decode decodes a tool's arguments. Its errors use the names of the tool and of the arguments in its schema.
func (d *Definition) decode(args []byte, params any) error {
	tool := d.Name
	if args = bytes.TrimSpace(args); len(args) == 0 || string(args) == "null" || string(args) == "{}" {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(args))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(params)
	if err == nil {
		if _, err = decoder.Token(); err == io.EOF {
			return nil
		}
		return usererr.Invalid("%s takes one JSON object of arguments", tool)
	}
	names := argumentNames(reflect.TypeOf(params).Elem())
	schema := map[string]json.RawMessage{}
	if json.Unmarshal([]byte("{"+d.Arguments+"}"), &schema) == nil && len(schema) > 0 { // others are for the user's own programs
		names = slices.DeleteFunc(names, func(name string) bool { return schema[name] == nil })
	}
	takes := "it takes " + strings.Join(names, ", ")
	if len(names) == 0 {
		takes = "it takes none"
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if wrong.Field == "" {
			return usererr.Invalid("%s takes one JSON object of arguments; %s", tool, takes)
		}
		field := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		return usererr.Invalid("%s must be %s, not %s", field, kindWords(wrong.Type), valueWords(wrong.Value))
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return usererr.Invalid("%s has no argument %s; %s", tool, field, takes)
	}
	return usererr.Invalid("the arguments of %s are not JSON: %v", tool, err)
}

func argumentNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			names = append(names, argumentNames(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// valueWords describes a value as [json.UnmarshalTypeError] names it: by its type, a number with its digits.
func valueWords(value string) string {
	if digits, ok := strings.CutPrefix(value, "number "); ok {
		return digits
	}
	switch value {
	case "bool":
		return "a boolean"
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	return "a " + value
}

func kindWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Uint64:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	case reflect.Pointer:
		return kindWords(t.Elem())
	}
	return fmt.Sprintf("a %s", t.Kind())
}
