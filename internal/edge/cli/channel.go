package cli

import (
	"cmp"
	"context"
	"fmt"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type channelCommand struct {
	List   listCommand[api.Channel] `cmd:"" help:"List the channels: who is told of problems, and whether each works."`
	Set    channelSetCommand        `cmd:"" help:"Make a channel, or change it; it gets what a route sends to it."`
	Test   channelTestCommand       `cmd:"" help:"Send a message of trial to a channel, and show the answer."`
	Log    channelLogCommand        `cmd:"" help:"Show the last 100 messages that were sent to a channel, with the answers."`
	Delete channelDeleteCommand     `cmd:"" help:"Delete a channel that no route names."`
}

var channelNoun = noun[api.Channel]{
	all: unfiltered((*client.Client).Channels),
	columns: columns[api.Channel]{
		titles: []string{"CHANNEL", "TYPE", "TO", "WAITING", "TROUBLE"},
		name:   func(c api.Channel) string { return c.Name },
		row: func(c api.Channel) []string {
			return []string{c.Name, c.Type, cmp.Or(c.To, c.Host, "-"), fmt.Sprint(c.Waiting), cmp.Or(c.Trouble, "-")}
		}},
	about: func(c api.Channel) string { return c.Type },
}

// channelVerbs are the commands that are described by data alone.
var channelVerbs = channelCommand{List: listOf(channelNoun)}

type channelSetCommand struct {
	connection
	output
	messaging
	Name       string `arg:"" help:"Name of the channel: letters a-z, digits and -."`
	Type       string `env:"-" help:"In which form it gets messages: webhook, mail, slack, teams, discord, ntfy, pagerduty or alertmanager; needed for a new channel." placeholder:"TYPE"`
	URLFile    string `name:"url-file" env:"-" help:"File with the URL, - for standard input: a URL often contains a token, and others would see it in the list of processes." placeholder:"FILE"`
	To         string `env:"-" help:"Address of mail, for example night@example.org." placeholder:"ADDRESS"`
	SecretFile string `env:"-" help:"File with the secret, - for standard input: what signs messages to a webhook, the integration key of PagerDuty, or the token that ntfy or Alertmanager asks for." placeholder:"FILE"`
}

// Run makes or changes the channel.
func (c *channelSetCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	var body api.PutChannel
	if c.Type != "" {
		body.Type = &c.Type
	}
	if c.To != "" {
		body.To = &c.To
	}
	for _, secret := range []struct {
		file string
		into **string
	}{{c.URLFile, &body.URL}, {c.SecretFile, &body.Secret}} {
		if secret.file == "" {
			continue
		}
		text, err := secretFrom(env, secret.file)
		if err != nil {
			return err
		}
		*secret.into = &text
	}
	if body == (api.PutChannel{}) {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "there is nothing to set",
			Hint: "Give --type and --url-file or --to, for example " +
				"`muster channel set night --type mail --to night@example.org`."}
	}
	set, err := server.PutChannel(ctx, c.Name, body)
	if err != nil {
		return err
	}
	return c.done(env, set.Name, set, fmt.Sprintf("The channel %s sends to %s. `muster channel test %s` tries it. It "+
		"gets what routes send to it: `muster route list`.", set.Name, printable(cmp.Or(set.To, set.Host)), set.Name))
}

type channelTestCommand struct {
	connection
	output
	Channel string `arg:"" help:"Name of the channel, as the list shows it."`
}

// Run sends the message of trial.
func (c *channelTestCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	tested, err := server.TestChannel(ctx, c.Channel)
	if err != nil {
		return err
	}
	return c.done(env, c.Channel, tested, tested.Found)
}

var deliveryColumns = columns[api.Delivery]{
	titles: []string{"AT", "TYPE", "ACCEPTED", "MESSAGE", "ANSWER"},
	name:   func(d api.Delivery) string { return d.NoticeID },
	row: func(d api.Delivery) []string {
		return []string{d.At.String(), d.Type, map[bool]string{true: "yes", false: "no"}[d.Accepted], d.Summary, d.Answer}
	},
}

type channelLogCommand struct {
	connection
	output
	sorting
	paging
	Channel string `arg:"" help:"Name of the channel, or default for the receivers that flags and settings name."`
}

func (c *channelLogCommand) orders() []string { return deliveryColumns.orders() }

// Run prints the log.
func (c *channelLogCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	log, err := server.Deliveries(ctx, c.Channel)
	if err != nil {
		return err
	}
	return printSorted(env, c.output, c.sorting, deliveryColumns, log)
}

type channelDeleteCommand struct {
	removing
	Channel string `arg:"" help:"Name of the channel, as the list shows it."`
}

// Run deletes the channel.
func (c *channelDeleteCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	channel, err := channelNoun.find(ctx, server, c.Channel)
	if err != nil {
		return err
	}
	question := ""
	if channel != nil {
		question = fmt.Sprintf("Delete the channel %s? %s for it and will not be sent.", channel.Name,
			counted(channel.Waiting, "message")+map[bool]string{true: " waits", false: " wait"}[channel.Waiting == 1])
	}
	return c.remove(ctx, env, removal{name: c.Channel, question: question, remove: server.DeleteChannel,
		change: "deleted", done: fmt.Sprintf("The channel %s is deleted.", c.Channel)})
}
