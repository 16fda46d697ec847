// Package cli is the command line: `serve` starts the server, `worker` and `sim` are its helpers. `backup`, `restore`
// and `admin` work on the database of a server on this machine, `admin` while it is stopped; everything else is a
// client of a running server over its REST API.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"muster/api"
	"muster/client"
	"muster/internal/adapter/agent"
	"muster/internal/adapter/sandbox"
	"muster/internal/fleet"
)

// Streams are the process's standard streams.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

type commands struct {
	Serve       serveCommand       `cmd:"" help:"Start the server."`
	Backup      backupCommand      `cmd:"" help:"Write everything that a server on this machine keeps into one encrypted file, also while it serves."`
	Restore     restoreCommand     `cmd:"" help:"Fill an empty home, and an empty database, with what a backup has."`
	Enroll      enrollCommand      `cmd:"" help:"Register the Syncthing daemon of this machine with a running Muster."`
	Agent       agentCommand       `cmd:"" help:"Connect the Syncthing daemon of this machine with a server, from this side: no port is opened, and no API key is copied. muster agent run --help lists its flags."`
	Enrollment  enrollmentCommand  `cmd:"" help:"Show which devices ask to be managed by their agents, accept or reject them."`
	EnrollKey   enrollKeyCommand   `cmd:"" help:"Make, list and revoke keys with which devices register themselves."`
	Revocation  revocationCommand  `cmd:"" help:"List the devices that are out for good, and end a revocation."`
	Device      deviceCommand      `cmd:"" help:"Register, show, change, tag and delete devices; have their daemons restart, rescan, pause or upgrade."`
	Plan        planCommand        `cmd:"" help:"Show what other templates and tags would change; changes nothing."`
	Order       orderCommand       `cmd:"" help:"Show what daemons were ordered to do (restart, rescan, pause, resume, upgrade), and what came of it."`
	Events      eventsCommand      `cmd:"" help:"Print what happens in the fleet, as it happens."`
	Doctor      doctorCommand      `cmd:"" help:"Look for what is wrong with a server and the machine it runs on, and say what to do."`
	Status      statusCommand      `cmd:"" help:"Show what is wrong in the fleet, or the state and the plan of one device."`
	Waiting     waitingCommand     `cmd:"" help:"Show what waits for a person, grouped by cause, with the commands that solve it."`
	Why         whyCommand         `cmd:"" help:"Show where a value in a device's configuration comes from: template, line, priority, what it replaced."`
	Apply       applyCommand       `cmd:"" help:"Apply a device's plan, with consent to what is held; without a digest, show it."`
	Consent     consentCommand     `cmd:"" help:"Show what waits for an answer, and answer it on all devices that have the same change."`
	Login       loginCommand       `cmd:"" help:"Log in to a server; later commands use its token."`
	Context     contextCommand     `cmd:"" help:"List the servers that commands can use, and choose, add and remove them."`
	Config      configCommand      `cmd:"" help:"Show the server, token and certificate that commands use, and where each comes from."`
	Logout      logoutCommand      `cmd:"" help:"End the session that muster login started, and forget its token."`
	Whoami      whoamiCommand      `cmd:"" help:"Show which user or token commands act as."`
	LoginLink   loginLinkCommand   `cmd:"" help:"Print a link that sets a password, once, or makes a new administrator."`
	User        userCommand        `cmd:"" help:"Make, list, change and delete users."`
	Session     sessionCommand     `cmd:"" help:"List who is logged in, and end sessions."`
	Token       tokenCommand       `cmd:"" help:"Make, list, rotate and delete tokens of a running Muster."`
	Folder      folderCommand      `cmd:"" help:"List the folders of the fleet, and show how far each device is."`
	File        fileCommand        `cmd:"" help:"Show whether a file is on each device that has its folder, and why not."`
	Versions    versionsCommand    `cmd:"" help:"Show how many devices run which version of Syncthing."`
	Revision    revisionCommand    `cmd:"" help:"List, show, compare and restore the configurations that a device was seen with."`
	Template    templateCommand    `cmd:"" help:"List, show, change, tag and evaluate templates."`
	Tag         tagCommand         `cmd:"" help:"List, delete and protect tags; have the daemons with a tag do something, one after the other."`
	Export      exportCommand      `cmd:"" help:"Write the fleet as files: templates, and what devices are called, tagged and set to."`
	Source      sourceCommand      `cmd:"" help:"List the sources of files, and give one up."`
	Test        testCommand        `cmd:"" help:"Run the assertions of a fleet as files against its templates, without a server."`
	Stop        stopCommand        `cmd:"" help:"Stop writing to daemons at once; they are watched and planned as before."`
	Resume      resumeCommand      `cmd:"" help:"Write to daemons again."`
	Rollout     rolloutCommand     `cmd:"" help:"Show and steer rollouts: pause, resume, halt, undo, approve, waves."`
	Pending     pendingCommand     `cmd:"" help:"Show what asks managed daemons to be let in, accept it or dismiss it."`
	AuthorKeys  authorKeysCommand  `cmd:"" help:"Show and set the keys that templates of authors may set besides what every author may."`
	FolderRoots folderRootsCommand `cmd:"" help:"Show and set the directories below which templates of authors may put folders."`
	Seal        sealCommand        `cmd:"" help:"Show and replace the key that seals the database."`
	Setting     settingCommand     `cmd:"" help:"List, show, set and reset the server's settings, without a restart."`
	Channel     channelCommand     `cmd:"" help:"List, make, try and delete the channels by which people are told of problems."`
	Route       routeCommand       `cmd:"" help:"List, make and delete routes: which problems are told to which channels."`
	Silence     silenceCommand     `cmd:"" help:"Keep Muster from telling anybody of some problems for a time."`
	Sink        sinkCommand        `cmd:"" help:"Send what Muster records to places outside: log stores, syslog servers, files."`
	Secret      secretCommand      `cmd:"" help:"List, put and delete the secrets that templates use."`
	Audit       auditCommand       `cmd:"" help:"Show who did what, export it, and prove that it was not changed."`
	Admin       adminCommand       `cmd:"" help:"Get back in on the server's machine when the last administrator's token is lost."`
	Sim         simCommand         `cmd:"" help:"Run simulated Syncthing daemons and print where they are."`
	Ready       readyCommand       `cmd:"" help:"Ask whether the server can do its work, for health checks; needs no token."`
	Completion  completionCommand  `cmd:"" help:"Print the script that has a shell complete commands, flags, labels, tags and templates."`
	Version     versionCommand     `cmd:"" help:"Print the version of this program, or with --running of the server; muster --version is the same."`
}

// describedCommands are all commands, with what is described as data of their nouns and verbs.
func describedCommands() *commands {
	return &commands{
		Channel:    channelVerbs,
		Device:     deviceVerbs,
		Enrollment: enrollmentVerbs,
		EnrollKey:  enrollKeyVerbs,
		Revocation: revocationVerbs,
		Folder:     folderVerbs,
		Order:      orderVerbs,
		Pending:    pendingVerbs,
		Rollout:    rolloutVerbs,
		Route:      routeVerbs,
		Session:    sessionVerbs,
		Setting:    settingVerbs,
		Silence:    silenceVerbs,
		Tag:        tagVerbs,
		Template:   templateVerbs,
		Token:      tokenVerbs,
		User:       userVerbs,
	}
}

// grammar has the command that the first word names, and nothing else: to describe all commands to kong takes longer
// than most of them run. Without such a command it has all.
func grammar(word string) any {
	all := reflect.ValueOf(describedCommands()).Elem()
	for field, value := range all.Fields() {
		if strings.EqualFold(field.Name, strings.ReplaceAll(word, "-", "")) {
			only := reflect.New(reflect.StructOf([]reflect.StructField{field}))
			only.Elem().Field(0).Set(value)
			return only.Interface()
		}
	}
	return all.Addr().Interface()
}

// environment is what every command is run with.
type environment struct {
	Streams
	build       fleet.Build
	quiet       bool   // the command prints only questions and errors
	message     string // purpose of the command's changes; see messaging
	forPrograms bool   // standard output is for values; questions go to standard error
	problems    bool   // errors are printed as JSON
}

// workerWord starts a worker of the sandbox. It is answered before kong builds the commands, which takes longer than
// the start of a worker.
const workerWord = "worker"

// helpWord before a command shows its help, as --help behind it does.
const helpWord = "help"

const description = `Central management for fleets of Syncthing daemons.

Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 refused with a text that says what to do, or something waits for a
person (status), 4 no server answers, 5 something differs (plan), 130 interrupted.`

// Run parses the arguments, runs one command and gives the exit code. commit is what the program was built from.
func Run(ctx context.Context, args []string, streams Streams, commit string) int {
	if first(args) == "--version" {
		args = append([]string{"version"}, args[1:]...)
	}
	if first(args) == helpWord {
		args = slices.Concat(args[1:], []string{"--help"})
	}
	if first(args) == workerWord {
		return explain(streams.Err, sandbox.Serve(streams.In, streams.Out))
	}
	env := &environment{Streams: streams, build: fleet.Build{Version: fleet.MusterVersion, Commit: commit}}
	exited, code := false, exitDone
	vars := kong.Vars{"home": defaultHome(), "syncthingHome": agent.DefaultHome()}
	if first(args) == manWord { // manual pages are read on other machines
		vars = kong.Vars{"home": "~/.local/share/muster", "syncthingHome": "~/.local/state/syncthing"}
	}
	parser, err := kong.New(grammar(first(args)),
		kong.Name("muster"),
		kong.Description(description),
		kong.Writers(streams.Out, streams.Err),
		kong.DefaultEnvars("MUSTER"),
		vars,
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Exit(func(c int) { exited, code = true, c }),
		kong.Bind(env),
	)
	if err != nil {
		fmt.Fprintln(streams.Err, "muster:", err)
		return exitFailed
	}
	describeSettings(parser.Model.Node)
	describe(parser.Model.Node)
	switch {
	case first(args) == completeWord:
		env.complete(ctx, parser, args[1:])
		return exitDone
	case first(args) == manWord && len(args) == 4:
		return explain(streams.Err, writeManPages(parser.Model, args[1], args[2], args[3]))
	}
	env.problems = asksForJSON(args)
	parsed, err := parser.Parse(joinedSorts(args))
	if exited { // --help has been answered
		return code
	}
	if err != nil {
		return explainUsage(streams.Err, env.problems, err)
	}
	if err := blankArgument(parsed); err != nil {
		return explainAs(streams.Err, env.problems, err)
	}
	if err := fillSecrets(parsed.Flags()); err != nil {
		return explainAs(streams.Err, env.problems, err)
	}
	err = env.run(ctx, parsed)
	if !env.problems {
		err = inOwnWords(parsed.Selected(), err)
	}
	return explainAs(streams.Err, env.problems, err)
}

// commandIn is the command whose arguments are wrong, up to the last word that kong recognised.
func commandIn(err error) string {
	command := "muster"
	var wrong *kong.ParseError
	if !errors.As(err, &wrong) || wrong.Context == nil {
		return command
	}
	for _, step := range wrong.Context.Path {
		if step.Command != nil {
			command += " " + step.Command.Name
		}
	}
	return command
}

// first is the first argument, "" without arguments.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// run runs the command that was parsed, once or as long as it watches.
func (env *environment) run(ctx context.Context, parsed *kong.Context) error {
	for _, flag := range parsed.Flags() {
		switch {
		case flag.Name == quietFlag && flag.Target.Bool():
			env.quiet, env.Out = true, io.Discard
		case flag.Name == messageFlag:
			env.message = flag.Target.String()
		case flag.Name == outputFlag:
			env.forPrograms = flag.Target.String() != "table"
		}
	}
	if err := fleet.CheckMessage(env.message); err != nil {
		return err
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	show := func() error { return parsed.Run() }
	target := parsed.Selected().Target.Addr().Interface()
	command, canWatch := target.(watcher)
	if !canWatch || !command.watches() {
		if reader, isPaged := target.(paged); isPaged && reader.pages() {
			return env.inPages(show)
		}
		return show()
	}
	server, err := command.client()
	if err != nil {
		return err
	}
	return watch(ctx, env, server, show)
}

const (
	quietFlag  = "quiet"  // the command prints only questions and errors
	outputFlag = "output" // the form of what it prints
)

// explain prints an error for a person and chooses the exit code.
func explain(w io.Writer, err error) int {
	code := codeFor(err)
	if !needsText(err) {
		return code
	}
	fmt.Fprintln(w, "muster:", err)
	var e *fleet.Error
	if !errors.As(err, &e) {
		return code
	}
	var answer *client.Error
	if !errors.As(err, &answer) { // the text of a server's answer includes its details
		for _, detail := range e.Details {
			if text := place(detail); detail.Line > 0 || detail.Message != e.Message {
				fmt.Fprintf(w, "  %s\n", text)
			}
		}
	}
	if e.Traceback != "" {
		fmt.Fprintln(w, e.Traceback)
	}
	if hint := hintFor(e, answer); hint != "" {
		fmt.Fprintln(w, hint)
	}
	return code
}

// hintFor is the error's own hint. In the place of one that names a path of the API it is the command for that. For a
// wrong token it is how a command is given one.
func hintFor(e *fleet.Error, answer *client.Error) string {
	if answer != nil && answer.Status == http.StatusUnauthorized {
		return howToGiveAToken
	}
	if text := commandToSee(e.See); text != "" {
		return text
	}
	return e.Hint
}

func place(d fleet.Detail) string {
	switch {
	case d.Line > 0 && d.Column == 0:
		return fmt.Sprintf("%s line %d: %s", d.Field, d.Line, d.Message)
	case d.Line > 0:
		return fmt.Sprintf("%s line %d, column %d: %s", d.Field, d.Line, d.Column, d.Message)
	case d.Field != "":
		return d.Field + ": " + d.Message
	}
	return d.Message
}

type versionCommand struct {
	connection
	output
	Running bool `env:"-" help:"Ask the server which version it runs."`
}

// Run prints the version and the commit.
func (c *versionCommand) Run(ctx context.Context, env *environment) error {
	build := env.build
	if c.Running {
		server, err := c.client()
		if err != nil {
			return err
		}
		running, err := server.Version(ctx)
		if err != nil {
			return err
		}
		build = fleet.Build(running)
	}
	return c.done(env, build.Version, api.Version(build), "muster "+build.String())
}
