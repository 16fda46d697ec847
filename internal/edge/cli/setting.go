package cli

import (
	"cmp"
	"context"
	"fmt"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type settingCommand struct {
	List  listCommand[api.Setting] `cmd:"" help:"List the server's settings, their values, and where each value comes from."`
	Get   settingGetCommand        `cmd:"" help:"Show one setting: what it does, its value, its default and its range."`
	Set   settingSetCommand        `cmd:"" help:"Set a setting; it takes effect at once, without a restart, unless the setting says otherwise."`
	Test  settingTestCommand       `cmd:"" help:"Try a value without setting it, for example whether backups can be made in a folder."`
	Reset settingResetCommand      `cmd:"" help:"Forget what was set, so that the default holds."`
}

var settingNoun = noun[api.Setting]{
	all: unfiltered((*client.Client).Settings),
	columns: columns[api.Setting]{
		titles: []string{"SETTING", "VALUE", "FROM", "WHAT IT DOES"},
		name:   func(s api.Setting) string { return s.Name },
		row:    func(s api.Setting) []string { return []string{s.Name, s.Shown, s.From, s.Help} }},
	about: func(s api.Setting) string { return s.Help },
}

// settingVerbs are the commands that are described by data alone.
var settingVerbs = settingCommand{List: listOf(settingNoun)}

type settingGetCommand struct {
	connection
	output
	Setting string `arg:"" help:"Name of the setting, as the list shows it."`
}

// Run prints the setting.
func (c *settingGetCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	s, err := server.Setting(ctx, c.Setting)
	if err != nil {
		return err
	}
	return showSetting(env, c.output, s)
}

func showSetting(env *environment, how output, s api.Setting) error {
	if !how.forPeople() {
		return how.print(env, s, s.Name)
	}
	fmt.Fprintf(env.Out, "%s  %s  (%s)\n", s.Name, printable(s.Shown), printable(s.From))
	fmt.Fprintln(env.Out, "  "+s.Help)
	fmt.Fprintf(env.Out, "  Default %s; %s.\n", cmp.Or(s.Default, "none"), s.Range)
	if s.Restart {
		fmt.Fprintln(env.Out, "  A change takes effect with the next start of the server.")
	}
	if s.Warning != "" {
		fmt.Fprintln(env.Out, "  "+printable(s.Warning))
	}
	return nil
}

type settingSetCommand struct {
	connection
	output
	asking
	Setting string `arg:"" help:"Name of the setting, as the list shows it."`
	Value   string `arg:"" optional:"" help:"The new value: a duration such as 30s, 24h or 90d, a number, true or false."`
	File    string `short:"f" help:"File with the value, - for standard input; a line end after it does not count. A secret is given so: others would see it in the list of processes." placeholder:"FILE" env:"-"`
}

// Run sets the setting. It asks first where a smaller value deletes something for good.
func (c *settingSetCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	now, err := server.Setting(ctx, c.Setting)
	if err != nil {
		return err
	}
	if c.Value, err = valueOf(env, now, c.Value, c.File); err != nil {
		return err
	}
	if err := c.agreedSetting(env, now, c.Value); err != nil {
		return err
	}
	set, err := server.PutSetting(ctx, c.Setting, c.Value)
	if err != nil {
		return err
	}
	return showSetting(env, c.output, set)
}

// valueOf returns the value that was typed, or the one of a file. A secret comes from nowhere else.
func valueOf(env *environment, now api.Setting, typed, file string) (string, error) {
	switch {
	case typed != "" && file != "":
		return "", &fleet.Error{Code: fleet.CodeInvalid, Message: "there is a value and a --file",
			Hint: "Leave one of them out."}
	case typed != "" && now.Kind == string(fleet.SettingSecret):
		return "", &fleet.Error{Code: fleet.CodeInvalid, Message: now.Name + " is a secret, and others see what is typed",
			Hint: "Give --file FILE, or --file - and type it."}
	case typed == "" && file == "":
		return "", &fleet.Error{Code: fleet.CodeInvalid, Message: "there is no value",
			Hint: "`muster setting reset " + now.Name + "` goes back to the default."}
	case file != "":
		return secretFrom(env, file)
	}
	return typed, nil
}

// agreedSetting is an error unless the new value deletes nothing, or the person agrees to that.
func (a asking) agreedSetting(env *environment, now api.Setting, to string) error {
	setting, err := fleet.SettingNamed(now.Name)
	if err != nil || now.Source == string(fleet.SettingByFlag) {
		return nil //nolint:nilerr // a newer server knows more settings
	}
	value, err := setting.Parse(to)
	if err != nil || !setting.Shrinks(now.Value, value) {
		return err
	}
	return a.consented(env, fmt.Sprintf("Set %s to %s instead of %s? That deletes %s, for good.", now.Name,
		setting.Shown(value), printable(now.Shown), setting.Deletes))
}

type settingTestCommand struct {
	connection
	output
	Setting string  `arg:"" help:"Name of the setting, as the list shows it."`
	Value   *string `arg:"" optional:"" help:"The value to try; without it, the one that holds."`
	File    string  `short:"f" help:"File with the value, - for standard input; a secret is given so." placeholder:"FILE" env:"-"`
}

// Run tries the value.
func (c *settingTestCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	if c.Value != nil || c.File != "" {
		now, err := server.Setting(ctx, c.Setting)
		if err != nil {
			return err
		}
		text := ""
		if c.Value != nil {
			text = *c.Value
		}
		if text, err = valueOf(env, now, text, c.File); err != nil {
			return err
		}
		c.Value = &text
	}
	tested, err := server.TestSetting(ctx, c.Setting, c.Value)
	if err != nil {
		return err
	}
	return c.done(env, c.Setting, tested, tested.Found)
}

type settingResetCommand struct {
	connection
	output
	asking
	Setting string `arg:"" help:"Name of the setting, as the list shows it."`
}

// Run resets the setting.
func (c *settingResetCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	now, err := server.Setting(ctx, c.Setting)
	if err != nil {
		return err
	}
	if err := c.agreedSetting(env, now, now.Default); err != nil {
		return err
	}
	after, err := server.ResetSetting(ctx, c.Setting)
	if err != nil {
		return err
	}
	return showSetting(env, c.output, after)
}
