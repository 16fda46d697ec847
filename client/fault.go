package client

import (
	"errors"
	"fmt"

	"muster/internal/fleet"
)

// BadAnswer is the error when an answer of the server broke off (CodeUnavailable) or is not understood (CodeInternal).
type BadAnswer struct{ fault *fleet.Error }

func (e *BadAnswer) Error() string { return e.fault.Error() }

// Hint says what to do next, for a person.
func (e *BadAnswer) Hint() string { return e.fault.Hint }

// Unwrap gives the error in the words of Muster's own packages. CodeOf gives its code to others.
func (e *BadAnswer) Unwrap() error { return e.fault }

func badAnswer(code fleet.Code, message, hint string, cause error) *BadAnswer {
	return &BadAnswer{&fleet.Error{Code: code, Message: message, Hint: hint, Err: cause}}
}

// BadAddress is the error of New and NewWith for a text that is not the address of a server. Its code is CodeInvalid.
type BadAddress struct{ fault *fleet.Error }

func (e *BadAddress) Error() string { return e.fault.Error() }

// Hint says what to do next, for a person.
func (e *BadAddress) Hint() string { return e.fault.Hint }

// Unwrap gives the error in the words of Muster's own packages. CodeOf gives its code to others.
func (e *BadAddress) Unwrap() error { return e.fault }

func badAddress(server string) *BadAddress {
	message := fmt.Sprintf("%q is no address of a server: it looks like http://127.0.0.1:2525", server)
	return &BadAddress{&fleet.Error{Code: fleet.CodeInvalid, Message: message,
		Hint:    "Write http:// or https://, the name or IP address of the machine, and the port.",
		Details: []fleet.Detail{{Field: "server", Message: message}}}}
}

// HintOf returns what a person can do about an error of this package, or "".
func HintOf(err error) string {
	var e *fleet.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
