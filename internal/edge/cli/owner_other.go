//go:build !unix

package cli

import "errors"

func ownerOf(string) (string, error) {
	return "", errors.New("services of the machine are for systems with systemd")
}

// ownOnly does nothing: files take their access from the folder that they are in.
func ownOnly() {}
