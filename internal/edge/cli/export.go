package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/core/fleetfiles"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

type exportCommand struct {
	connection
	Dir    string `arg:"" help:"Directory to write to; it is made where it is not there." type:"path"`
	Source string `env:"-" help:"Only templates of this source, and the name goes into fleet.hjson; a new one is for all templates without a source. Without it: what fleet.hjson there says, else the name of the directory while the server knows no source." placeholder:"NAME"`
	Force  bool   `env:"-" help:"Replace files that differ, and remove template files that the server has no template for."`
}

// Help shows the files.
func (exportCommand) Help() string {
	return `DIR then has:

  fleet.hjson        what devices are called, tagged and set to, by device ID
  templates/NAME.*   each template with its header: label, priority, op, key, tags
  tests/             assertions, which are yours: export leaves them alone

` + "`muster plan -f DIR` shows what files would change, `muster apply -f DIR` makes it so. No secret is in a file."
}

// Run writes the fleet as files.
func (c *exportCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	now, err := server.Fleet(ctx)
	if err != nil {
		return err
	}
	if c.Source == "" {
		if c.Source, err = sourceOf(c.Dir); err != nil {
			return err
		}
	}
	if c.Source == "" && len(now.Sources) == 0 {
		c.Source = newSource(c.Dir)
	}
	files, err := exported(now, c.Source)
	if err != nil {
		return err
	}
	written, removed, err := c.write(files)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "%s: %s, %s, at generation %d. Written: %d, removed: %d.\n", printable(c.Dir),
		counted(len(files)-1, "template"), counted(len(now.Devices), "device"), now.Generation, written, removed)
	return err
}

// newSource is the name of a source for files in a directory: that of the directory.
func newSource(dir string) string {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	return fleet.FileName(filepath.Base(whole))
}

// sourceOf is the source that fleet.hjson in a directory names, "" without one.
func sourceOf(dir string) (string, error) {
	text, err := readBounded(filepath.Join(dir, fleetFileName))
	if err != nil {
		if os.IsNotExist(err) {
			return "", nil
		}
		return "", unreadable(err)
	}
	var is fleetFile
	if _, faults := fleetfiles.Decode(fleetFileName, text, &is); len(faults) > 0 {
		return "", fleetfiles.Faults(faults)
	}
	return is.Source, nil
}

// exported are the files, by their path below the directory.
func exported(now api.Fleet, source string) (map[string]string, error) {
	files := map[string]string{}
	_, known := now.Sources[source]
	for name, t := range now.Templates {
		if source != "" && t.Source != source && (known || t.Source != "") {
			continue
		}
		file := fleetfiles.Template{Label: t.Label, Blank: t.Label == "", Priority: t.Priority, Op: t.Op, Key: t.Key,
			Tags: t.Tags, Text: t.Template}
		files[templatesDir+"/"+name+endingOf(t.Template)] = file.String()
	}
	var err error
	files[fleetFileName], err = fleetFileOf(now, source).text()
	return files, err
}

// endingOf is .star for a program, and .hjson for all else.
func endingOf(text string) string {
	if program, err := template.Compile(text); err == nil && program.Language() != template.HJSON {
		return ".star"
	}
	return ".hjson"
}

// fleetFileOf is fleet.hjson for the fleet. It leaves out default values.
func fleetFileOf(now api.Fleet, source string) fleetFile {
	f := fleetFile{Source: source, ReadOnly: now.Sources[source].ReadOnly,
		KeepTests: len(now.Sources[source].Assertions) > 0, FolderRoots: now.FolderRoots,
		Tags: map[string]api.PlanFleetTag{}, Devices: map[string]api.PlanFleetDevice{}}
	for id, d := range now.Devices {
		one := api.PlanFleetDevice{Label: &d.Label, Tags: d.Tags, System: d.System}
		settings := api.PlanFleetSettings{Mode: unless("on", d.Settings.Mode),
			AllowPlain: unless(false, d.Settings.AllowPlain), Restart: unless(false, d.Settings.Restart),
			Way: unless("auto", d.Settings.Way)}
		if settings != (api.PlanFleetSettings{}) {
			one.Settings = &settings
		}
		if len(d.Vars) > 0 {
			one.Vars = d.Vars
		}
		f.Devices[id] = one
	}
	for name, t := range now.Tags {
		one := api.PlanFleetTag{Mode: unless("on", t.Mode), Protected: unless(false, t.Protected)}
		if len(t.FolderRoots) > 0 {
			one.FolderRoots = t.FolderRoots
		}
		if len(t.Vars) > 0 {
			one.Vars = t.Vars
		}
		f.Tags[name] = one
	}
	return f
}

// unless is a value, and nil for the default one.
func unless[T comparable](byDefault, value T) *T {
	if value == byDefault {
		return nil
	}
	return &value
}

// write writes the files. Where it would replace or remove files of a person, it writes none without --force.
func (c *exportCommand) write(files map[string]string) (written, removed int, err error) {
	stale, differing, err := c.others(files)
	if err != nil {
		return 0, 0, err
	}
	if lost := slices.Concat(stale, differing); len(lost) > 0 && !c.Force {
		more := ""
		if len(lost) > 5 {
			more = " and " + fleet.NumberText(len(lost)-5) + " more"
		}
		return 0, 0, &fleet.Error{Code: fleet.CodeConflict,
			Message: fmt.Sprintf("files in %s are not as the server has them: %s%s", c.Dir,
				strings.Join(lost[:min(len(lost), 5)], ", "), more),
			Hint: fmt.Sprintf("`muster plan -f %s` shows the difference; --force replaces and removes them.", quoted(c.Dir))}
	}
	if err := os.MkdirAll(filepath.Join(c.Dir, templatesDir), 0o777); err != nil { //nolint:gosec // as the umask says
		return 0, 0, err
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		full := filepath.Join(c.Dir, filepath.FromSlash(path))
		if is, err := os.ReadFile(full); err == nil && string(is) == files[path] {
			continue
		}
		if err := os.WriteFile(full, []byte(files[path]), 0o666); err != nil { //nolint:gosec // as the umask says
			return written, removed, err
		}
		written++
	}
	for _, path := range stale {
		if err := os.Remove(filepath.Join(c.Dir, filepath.FromSlash(path))); err != nil {
			return written, removed, err
		}
		removed++
	}
	return written, removed, nil
}

// others are the files that a person may have written: stale ones are not exported, differing ones have other
// contents.
func (c *exportCommand) others(files map[string]string) (stale, differing []string, err error) {
	d := fleetDir{dir: c.Dir}
	names, err := d.filesIn(templatesDir, ".hjson", ".star")
	if err != nil {
		return nil, nil, unreadable(err)
	}
	for _, name := range names {
		if _, there := files[templatesDir+"/"+name]; !there {
			stale = append(stale, templatesDir+"/"+name)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		is, err := os.ReadFile(filepath.Join(c.Dir, filepath.FromSlash(path)))
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return nil, nil, unreadable(err)
		case string(is) != files[path]:
			differing = append(differing, path)
		}
	}
	return stale, differing, nil
}

// fileOfField is the file and line that a field of the request came from.
func (d *fleetDir) fileOfField(field string, line int) (path string, at int) {
	if rest, found := strings.CutPrefix(field, "templates."); found {
		best := ""
		for name := range d.templates {
			if (rest == name || strings.HasPrefix(rest, name+".")) && len(name) > len(best) {
				best = name
			}
		}
		file, of := d.templates[best], strings.TrimPrefix(rest, best+".")
		if of == "template" && line > 0 {
			return file.path, line + file.HeaderLines
		}
		return file.path, file.lineOf(of)
	}
	if rest, found := strings.CutPrefix(field, "assertions."); found {
		number, _, _ := strings.Cut(rest, ".")
		for i, test := range d.tests {
			if number == fmt.Sprint(i) {
				return test.path, test.line
			}
		}
	}
	return fleetFileName, cmp.Or(d.document.Line(strings.Split(field, ".")...), 1)
}
