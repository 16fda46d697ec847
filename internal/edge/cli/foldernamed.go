package cli

import (
	"context"
	"fmt"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// folderNamed is the ID of the folder that a person names: by its ID, or by its label where no other folder has that.
// A name that is near no ID stays as it is, and the server answers what it means.
func folderNamed(ctx context.Context, server *client.Client, name string) (id string, err error) {
	found, err := server.FolderOverviews(ctx, client.List{Search: name})
	if err != nil {
		return name, nil //nolint:nilerr // The command asks about the folder, and tells this error.
	}
	var labelled []string
	for _, f := range found {
		if f.Folder == name {
			return name, nil
		}
		if f.Label == name {
			labelled = append(labelled, f.Folder)
		}
	}
	switch len(labelled) {
	case 0:
		return name, nearFolder(ctx, server, name)
	case 1:
		return labelled[0], nil
	}
	return "", &fleet.Error{Code: fleet.CodeInvalid, Hint: "Give the ID of one.",
		Message: fmt.Sprintf("%d folders have the label %q: %s", len(labelled), name,
			printable(strings.Join(labelled, ", ")))}
}

// nearFolder is the error about a name that no folder has; nil where it is near no ID.
func nearFolder(ctx context.Context, server *client.Client, name string) error {
	all, err := server.FolderOverviews(ctx, client.List{})
	if err != nil {
		return nil //nolint:nilerr // As above.
	}
	near := fleet.Nearest(name, idsOfFolders(all))
	if near == "" {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf("no folder has the ID or the label %q", name),
		Hint: fmt.Sprintf("Did you mean %q? `muster folder list` lists all.", near)}
}

func idsOfFolders(all []api.FolderOverview) []string {
	ids := make([]string, len(all))
	for i, f := range all {
		ids[i] = f.Folder
	}
	return ids
}
