//go:build !linux

package daemon

import (
	"errors"
	"net/http"
	"os/exec"
	"testing"
)

// Namespace is for Linux.
type Namespace struct{ Name, Host, Own string }

// NewNamespace gives the reason why there is none.
func NewNamespace(testing.TB) (*Namespace, error) {
	return nil, errors.New("network namespaces are for Linux")
}

// Command is a command of this machine.
func (n *Namespace) Command(name string, args ...string) *exec.Cmd {
	return exec.Command(name, args...)
}

func (n *Namespace) client() *http.Client { return client }
