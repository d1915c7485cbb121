package main

import (
	"os"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/viewclient"
)

// clientOf returns a client that sees everything.
func clientOf(h home.Home) *viewclient.Client {
	return &viewclient.Client{Home: h, Name: "cli", Wording: inCommands.Replace}
}

// newClient returns a client for the project in the working directory.
func newClient() (*viewclient.Client, error) {
	h, err := home.Find(version)
	if err != nil {
		return nil, err
	}
	c := clientOf(h)
	if c.Origins, err = projectOrigins(); err != nil {
		return nil, err
	}
	c.Project = findProject()
	c.Dir, _ = os.Getwd() // without one, there are no changes of files
	return c, nil
}
