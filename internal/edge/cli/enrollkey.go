package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type enrollKeyCommand struct {
	Create enrollKeyCreateCommand     `cmd:"" help:"Make a key with which devices register themselves; it is printed once, alone on the last line."`
	List   listCommand[api.EnrollKey] `cmd:"" help:"List enrol keys, without their texts."`
	Revoke enrollKeyRevokeCommand     `cmd:"" help:"Withdraw a key at once; the devices that it registered stay."`
}

type enrollKeyCreateCommand struct {
	connection
	output
	messaging
	Tag     []string `env:"-" help:"Tags of each device that the key registers, with commas between, or one after each --tag." placeholder:"TAG"`
	Uses    int64    `env:"-" help:"How many devices it registers." default:"1" placeholder:"N"`
	Expires lifetime `env:"-" help:"How long it is good for, for example 24h, 30d." default:"24h" placeholder:"TIME"`
}

// Run prints the key alone on the last line.
func (c *enrollKeyCreateCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	body := api.CreateEnrollKey{Uses: &c.Uses, ExpiresInS: c.Expires.seconds()}
	if len(c.Tag) > 0 {
		body.Tags = &c.Tag
	}
	made, err := server.CreateEnrollKey(ctx, body)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Err, "Enrol key %s for %s, tags %s, until %v; it is not shown again:\n", made.ID,
		counted(int(made.Uses), "device"), cmp.Or(strings.Join(made.Tags, ", "), "none"), made.ExpiresAt)
	return c.done(env, made.ID, made, made.Key)
}

var enrollKeyNoun = noun[api.EnrollKey]{
	all: unfiltered((*client.Client).EnrollKeys),
	columns: columns[api.EnrollKey]{
		titles: []string{"KEY", "STATE", "USED", "TAGS", "EXPIRES", "LAST USED", "MADE BY"},
		name:   func(k api.EnrollKey) string { return k.ID },
		row: func(k api.EnrollKey) []string {
			return []string{k.ID, keyStates[k.State], fmt.Sprintf("%d of %d", k.Used, k.Uses),
				cmp.Or(strings.Join(k.Tags, ", "), "-"), k.ExpiresAt.String(), orNever(k.LastUsedAt), k.CreatedBy}
		}},
	about: func(k api.EnrollKey) string { return keyStates[k.State] },
}

// enrollKeyVerbs are the commands that are described by data alone.
var enrollKeyVerbs = enrollKeyCommand{List: listOf(enrollKeyNoun)}

var keyStates = map[string]string{"usable": "usable", "expired": "expired", "usedUp": "used up",
	"altered": "refused: not written by Muster",
	"stopped": "stopped by the settings"}

type enrollKeyRevokeCommand struct {
	connection
	output
	asking
	Key string `arg:"" help:"As muster enroll-key list shows it, or how it begins."`
}

// Run revokes the key. Where the whole key was pasted, its ID counts.
func (c *enrollKeyRevokeCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	keys, err := server.EnrollKeys(ctx)
	if err != nil {
		return err
	}
	begins := strings.TrimPrefix(c.Key, fleet.EnrollKeyPrefix)
	if id, whole := fleet.EnrollKeyID(c.Key); whole {
		begins = id
	}
	keys = slices.DeleteFunc(keys, func(k api.EnrollKey) bool { return begins == "" || !strings.HasPrefix(k.ID, begins) })
	switch len(keys) {
	case 0:
		return &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf("no enrol key begins with %q", c.Key),
			Hint: "`muster enroll-key list` shows all of them."}
	case 1:
	default:
		return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%d enrol keys begin with %q", len(keys), c.Key),
			Hint: "Give more characters: `muster enroll-key list` shows all of them."}
	}
	if err := c.consented(env, fmt.Sprintf("Revoke the enrol key %s? It is %s, has registered %s, which stay, and may "+
		"register %d more.", keys[0].ID, keyStates[keys[0].State], counted(int(keys[0].Used), "device"),
		keys[0].Uses-keys[0].Used)); err != nil {
		return err
	}
	if err := server.DeleteEnrollKey(ctx, keys[0].ID); err != nil {
		return err
	}
	return c.done(env, keys[0].ID, keys[0], fmt.Sprintf("Revoked %s. It had registered %s, which stay.", keys[0].ID,
		counted(int(keys[0].Used), "device")))
}
