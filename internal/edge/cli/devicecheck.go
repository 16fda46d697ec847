package cli

import (
	"context"
	"fmt"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// checking is embedded in commands that store how a daemon is reached.
type checking struct {
	NoCheck bool `env:"-" help:"Save without trying address and API key first."`
}

// try has the server try the record that is to be stored. It tries nothing for a device without an address, which is
// looked for later. A blank pin is the stored one.
func (c checking) try(ctx context.Context, server *client.Client, id string, record api.PutDevice, pin string,
) (api.DeviceTest, error) {
	if c.NoCheck || record.APIAddress == nil || *record.APIAddress == "" {
		return api.DeviceTest{}, nil
	}
	test := api.TestDevice{APIAddress: record.APIAddress, APIPort: record.APIPort, APIKey: record.APIKey}
	if pin != "" {
		test.Pin = &pin
	}
	return server.TestDevice(ctx, id, test)
}

// check returns an error if the server cannot reach a registered device with the record that is to be stored.
func (c checking) check(ctx context.Context, server *client.Client, id string, record api.PutDevice) error {
	found, err := c.try(ctx, server, id, record, "")
	if err == nil && found.Problem != "" {
		err = notReached(found)
	}
	return err
}

func notReached(found api.DeviceTest) error {
	message := "nothing was saved: " + printable(found.Reason)
	if found.Other.Registered {
		message += ", which is registered as " + printable(nameOf(found.Other.DeviceID, found.Other.Label))
	}
	return &fleet.Error{Code: fleet.CodeInvalid, Message: message,
		Details: []fleet.Detail{{Field: found.Field, Message: message}},
		Hint:    printable(found.Next) + " --no-check saves without trying."}
}

// registeredAlready returns the error about a device that is registered. label may be blank.
func registeredAlready(id fleet.DeviceID, label string) error {
	return &fleet.Error{Code: fleet.CodeConflict,
		Message: fmt.Sprintf("device %s is registered already%s", id.Short(), quotedAs(label)),
		Hint:    "`muster device edit " + id.Short() + "` changes it."}
}

// quotedAs is `, as "LABEL"`, or "" for a blank label.
func quotedAs(label string) string {
	if label == "" {
		return ""
	}
	return fmt.Sprintf(", as %q", printable(label))
}
