package seal

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"muster/internal/fleet"
)

// maxFileBytes bounds a file with a secret. Every secret is shorter.
const maxFileBytes = 64 << 10

const (
	othersMayRead fs.FileMode = 0o004
	// The group counts as others, because Muster would trust what its members write.
	othersMayWrite fs.FileMode = 0o022
)

// ReadFile reads a secret from a file, without the line end after it. It refuses a file that other users can read or
// write. The group may read it: that is how a service gets a secret whose file root owns.
func ReadFile(path string) (fleet.Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return fleet.Secret{}, unreadable(path, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return fleet.Secret{}, unreadable(path, err)
	}
	if err := checkInfo(path, info); err != nil {
		return fleet.Secret{}, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return fleet.Secret{}, unreadable(path, err)
	}
	if len(text) > maxFileBytes {
		return fleet.Secret{}, &fleet.Error{Code: fleet.CodeInvalid, Message: path + " is too large for a secret",
			Hint: "Name the file that holds the secret and nothing else."}
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if value == "" {
		return fleet.Secret{}, &fleet.Error{Code: fleet.CodeInvalid, Message: path + " is empty",
			Hint: "Write the secret into it, or leave the flag out."}
	}
	return fleet.NewSecret(value), nil
}

// CheckFile refuses a file that other users can read or write. The error contains the command that fixes this.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return unreadable(path, err)
	}
	return checkInfo(path, info)
}

func checkInfo(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return nil // The file is a pipe, as from `<(command)` in a shell.
	}
	if err := CheckWritable(path, info); err != nil {
		return err
	}
	if info.Mode()&othersMayRead != 0 {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "every user of this machine may read " + path,
			Hint: fmt.Sprintf("Type: chmod o= %s", Quoted(path))}
	}
	return nil
}

// CheckWritable refuses a file or folder that other users can write. The error contains the command that fixes this.
func CheckWritable(path string, info fs.FileInfo) error {
	switch {
	case info.Mode()&othersMayWrite != 0:
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "other users may write to " + path,
			Hint: fmt.Sprintf("Make sure that what it holds is yours, then type: chmod go-w %s", Quoted(path))}
	case ofAnother(info):
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "another user owns " + path + " and may write to it",
			Hint: fmt.Sprintf("Make sure that what it holds is yours, then type as root: chown %d %s", os.Geteuid(),
				Quoted(path))}
	}
	return nil
}

// Quoted returns a path in quotes for a shell.
func Quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

func unreadable(path string, err error) error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: "the file with a secret cannot be read: " + err.Error(),
		Hint: "Look whether " + path + " exists and the user that runs this command may read it.", Err: err}
}
