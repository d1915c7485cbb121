package render

import "fmt"

// Level is a console level as an aligned word in its colour.
func Level(level string) string {
	word := fmt.Sprintf("%-7s", level)
	switch level {
	case "error":
		return red.Render(word)
	case "warning":
		return yellow.Render(word)
	}
	return faint.Render(word)
}

// Status is a request's outcome: its status, or why there is none.
func Status(status int, reason string, canceled bool) string {
	switch {
	case status >= 400:
		return red.Render(fmt.Sprint(status))
	case status > 0:
		return green.Render(fmt.Sprint(status))
	case canceled:
		return faint.Render("canceled")
	}
	return red.Render(reason)
}
