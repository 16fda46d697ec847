package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type sinkCommand struct {
	List     sinkListCommand     `cmd:"" help:"List sinks, and how far each is."`
	Set      sinkSetCommand      `cmd:"" help:"Add or change a sink. A new one begins with what is recorded from now on."`
	Test     sinkTestCommand     `cmd:"" help:"Send a record of trial to a sink, and wait for its answer."`
	Refusals sinkRefusalsCommand `cmd:"" help:"List what a sink refused."`
	Replay   sinkReplayCommand   `cmd:"" help:"Send again what was recorded since a time, as far as it is still kept."`
	Delete   sinkDeleteCommand   `cmd:"" help:"Remove a sink."`
}

var sinkNoun = noun[api.Sink]{
	all: unfiltered((*client.Client).Sinks),
	columns: columns[api.Sink]{
		titles: []string{"NAME", "KIND", "ADDRESS", "SENT", "WAITING", "REFUSED"},
		name:   func(s api.Sink) string { return s.Name },
		row: func(s api.Sink) []string {
			return []string{s.Name, s.Kind, s.Address, fmt.Sprint(s.Sent), fmt.Sprint(s.Waiting), fmt.Sprint(s.Refused)}
		},
	},
	about: func(s api.Sink) string { return s.Kind + " " + s.Address },
}

type sinkListCommand struct {
	connection
	output
	sorting
	paging
}

// Run prints each sink and how it stands.
func (c *sinkListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	sinks, err := server.Sinks(ctx)
	if err != nil {
		return err
	}
	if sinks, err = inOrder(c.sorting, sinkNoun.columns, sinks); err != nil {
		return err
	}
	if !c.forPeople() {
		return printList(env, c.output, sinkNoun.columns, sinks)
	}
	if len(sinks) == 0 {
		fmt.Fprintln(env.Out, "There is no sink. `muster sink set --help` says how to add one.")
	}
	for _, s := range sinks {
		printSink(env.Out, s)
	}
	return nil
}

func printSink(out io.Writer, s api.Sink) {
	where := s.Address
	if s.Kind == string(fleet.SinkFile) {
		where = "sinks/" + s.Name + ".jsonl in the server's home"
	}
	fmt.Fprintf(out, "%s  %s %s  streams %s\n", printable(s.Name), s.Kind, printable(where), strings.Join(s.Streams, ", "))
	fmt.Fprintf(out, "  %s sent, %s waiting\n", fleet.NumberText(s.Sent), fleet.NumberText(s.Waiting))
	if s.Refused > 0 {
		fmt.Fprintf(out, "  It refused %d: `muster sink refusals %s` lists them.\n", s.Refused, s.Name)
	}
	if s.Lost > 0 {
		fmt.Fprintf(out, "  It will never get %d: they were deleted because of their age before it took them.\n", s.Lost)
	}
	if s.Trouble != "" {
		fmt.Fprintf(out, "  It takes nothing: %s\n", printable(s.Trouble))
	}
}

type sinkSetCommand struct {
	connection
	output
	messaging
	Name       string            `arg:"" help:"Name: lower-case letters, digits and hyphens."`
	Kind       string            `required:"" enum:"http,elasticsearch,syslog,otlp,file" help:"http (JSON lines), elasticsearch (also OpenSearch), syslog (RFC 5424 over TCP or TLS), otlp (OpenTelemetry) or file (in the server's home)." placeholder:"KIND"`
	Address    string            `env:"-" help:"URL, or tls://HOST:PORT or tcp://HOST:PORT of a syslog server; none for a file." placeholder:"URL"`
	Stream     []string          `env:"-" help:"audit (who did what), problems (connections and configurations), changes (configurations that were read, orders) or sync (folders, conflicts). Repeatable; without it all." enum:"audit,problems,changes,sync" placeholder:"STREAM"`
	Index      string            `env:"-" help:"Index or data stream of Elasticsearch; without it muster-events." placeholder:"NAME"`
	Header     map[string]string `env:"-" help:"Header that is sent, such as X-Scope=fleet. Repeatable. Without this and --header-file the headers that are stored stay." placeholder:"NAME=VALUE"`
	HeaderFile map[string]string `env:"-" help:"Header whose value is in a file, such as Authorization=key.txt with the line 'ApiKey ...' or 'Bearer ...'. Repeatable." placeholder:"NAME=FILE"`
	NoHeaders  bool              `help:"Remove the headers that are stored."`
}

// Run saves the sink.
func (c *sinkSetCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	put := api.PutSink{Kind: &c.Kind, Streams: c.Stream}
	if c.Address != "" {
		put.Address = &c.Address
	}
	if c.Index != "" {
		put.Index = &c.Index
	}
	if len(c.Header)+len(c.HeaderFile) > 0 || c.NoHeaders {
		put.Headers = map[string]string{}
	}
	for name, value := range c.Header {
		put.Headers[name] = value
	}
	for name, file := range c.HeaderFile {
		value, err := secretFrom(env, file)
		if err != nil {
			return err
		}
		put.Headers[name] = value
	}
	sink, created, err := server.PutSink(ctx, c.Name, put)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, sink, sink.Name)
	}
	if created {
		fmt.Fprintf(env.Out, "Added; `muster sink test %s` tries it:\n", sink.Name)
	} else {
		fmt.Fprintln(env.Out, "Changed:")
	}
	printSink(env.Out, sink)
	return nil
}

type sinkTestCommand struct {
	connection
	output
	Name string `arg:"" help:"Name of the sink."`
}

// Run tries the sink.
func (c *sinkTestCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	if err := server.TestSink(ctx, c.Name); err != nil {
		return err
	}
	return c.done(env, c.Name, changed{c.Name, "tested"}, "It took the record of trial.")
}

type sinkRefusalsCommand struct {
	connection
	output
	Name string `arg:"" help:"Name of the sink."`
}

// Run prints what the sink refused.
func (c *sinkRefusalsCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	refusals, err := server.SinkRefusals(ctx, c.Name)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, refusals, "")
	}
	if len(refusals) == 0 {
		fmt.Fprintln(env.Out, "It refused nothing.")
	}
	for _, one := range refusals {
		fmt.Fprintf(env.Out, "%s  %s %d: %s\n", one.At.Local().Format(time.DateTime), one.Stream, one.Number,
			printable(one.Reason))
	}
	return nil
}

type sinkReplayCommand struct {
	connection
	output
	asking
	Name  string `arg:"" help:"Name of the sink."`
	Since string `required:"" env:"-" help:"2026-01-31, 2026-01-31T08:00:00Z, or how long ago, like 2h." placeholder:"TIME"`
}

// Run has the sink get what it may have got before.
func (c *sinkReplayCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	since, err := timeOf("--since", c.Since)
	if err != nil {
		return err
	}
	question := fmt.Sprintf(
		"Send everything since %s to %q again? Elasticsearch has each entry once; other receivers get "+
			"what they have a second time.",
		since.Local().Format(time.DateTime),
		c.Name,
	)
	if err := c.consented(env, question); err != nil {
		return err
	}
	if err := server.ReplaySink(ctx, c.Name, api.ReplaySink{Since: &api.Time{Time: since}}); err != nil {
		return err
	}
	return c.done(env, c.Name, changed{c.Name, "replayed"}, "It is sent again.")
}

type sinkDeleteCommand struct {
	removing
	Name string `arg:"" help:"Name of the sink."`
}

// Run removes the sink.
func (c *sinkDeleteCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	sink, err := sinkNoun.find(ctx, server, c.Name)
	if err != nil {
		return err
	}
	question := ""
	if sink != nil {
		question = fmt.Sprintf("Remove the sink %q? %s. What it has stays there.", sink.Name,
			fleet.Counted(sink.Waiting, "entry was not sent to it yet", "entries were not sent to it yet"))
	}
	return c.remove(ctx, env, removal{name: c.Name, remove: server.DeleteSink, change: "deleted", done: "Removed.",
		question: question})
}
