package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

func (s SettingHandlers) limitRoutes() []route {
	const roots, tag = Prefix + "/folder-roots", Prefix + "/tags/{tag}/settings"
	const keys = Prefix + "/author-keys"
	const protection = Prefix + "/tags/{tag}/protection"
	return []route{
		{method: http.MethodGet, path: roots, name: "getFolderRoots",
			summary: "Directories below which templates of authors may put folders", permission: auth.Read,
			reply: reflect.TypeFor[api.FolderRoots](), handle: s.ofRegistry(s.getFolderRoots)},
		{method: http.MethodPut, path: roots, name: "putFolderRoots", summary: "Replace them",
			permission: auth.WriteSettings,
			body:       reflect.TypeFor[api.PutFolderRoots](), reply: reflect.TypeFor[api.FolderRoots](), conditional: true,
			handle: s.putFolderRoots},
		{method: http.MethodGet, path: keys, name: "getAuthorKeys",
			summary: "Keys that templates of authors may set besides what every author may", permission: auth.Read,
			reply: reflect.TypeFor[api.AuthorKeys](), handle: s.ofRegistry(s.getAuthorKeys)},
		{method: http.MethodPut, path: keys, name: "putAuthorKeys", summary: "Replace these keys",
			permission: auth.WriteSettings,
			body:       reflect.TypeFor[api.PutAuthorKeys](), reply: reflect.TypeFor[api.AuthorKeys](), conditional: true,
			handle: s.putAuthorKeys},
		{method: http.MethodGet, path: tag, name: "getTagSettings", summary: "Settings of the devices with a tag",
			permission: auth.Read,
			reply:      reflect.TypeFor[api.TagSettings](), handle: s.ofTag(s.getTagSettings)},
		{method: http.MethodPut, path: tag, name: "putTagSettings",
			summary: "Change settings of the devices with a tag; what is left out stays", permission: auth.Stop,
			body: reflect.TypeFor[api.PutTagSettings](), reply: reflect.TypeFor[api.TagSettingsStored](),
			handle: s.putTagSettings},
		{method: http.MethodGet, path: protection, name: "getTagProtection",
			summary: "Whether only an admin puts the tag on a device or takes it off", permission: auth.Read,
			reply: reflect.TypeFor[api.TagProtection](), handle: s.ofTag(s.getTagProtection)},
		{method: http.MethodPut, path: protection, name: "putTagProtection", summary: "Set whether it is so",
			permission: auth.WriteSettings, body: reflect.TypeFor[api.PutTagProtection](),
			reply: reflect.TypeFor[api.TagProtection](), handle: s.putTagProtection},
	}
}

func wireRoots(roots []string) api.FolderRoots {
	return api.FolderRoots{FolderRoots: append([]string{}, roots...)}
}

func shownRoots(roots *[]string) any { return wireRoots(*roots) }

func (s SettingHandlers) getFolderRoots(r *request, registry *fleet.Registry) (reply, error) {
	return show(wireRoots(registry.Roots[""]))
}

func (s SettingHandlers) putFolderRoots(r *request) (reply, error) {
	body, err := decode[api.PutFolderRoots](r, "folderRoots")
	if err != nil {
		return reply{}, err
	}
	stored, err := s.Limits.PutFolderRoots(r.Context(), "", body.FolderRoots, condition(r, shownRoots))
	if err != nil {
		return reply{}, err
	}
	return show(wireRoots(stored))
}

// ofTag is the handler of a route whose path names a tag.
func (s *base) ofTag(handle func(*request, fleet.Tag, *fleet.Registry) (reply, error)) func(*request) (reply, error) {
	return func(r *request) (reply, error) {
		tag, registry, err := s.tagAndRegistry(r)
		if err != nil {
			return reply{}, err
		}
		return handle(r, tag, registry)
	}
}

// tagAndRegistry is the tag of the request's path, and the registry now.
func (s *base) tagAndRegistry(r *request) (fleet.Tag, *fleet.Registry, error) {
	tag, err := r.tag()
	if err != nil {
		return "", nil, err
	}
	registry, err := s.Registry.Registry(r.Context())
	return tag, registry, err
}

func (s SettingHandlers) getTagSettings(r *request, tag fleet.Tag, registry *fleet.Registry) (reply, error) {
	return show(api.TagSettings{
		ModeSetting: api.ModeSetting{Mode: string(registry.TagModes[tag].OrOn())},
		FolderRoots: wireRoots(registry.Roots[tag]), AuthorKeys: wireKeys(registry.AuthorKeys[tag]),
		QuietAfter: int64(registry.TagQuiet[tag] / time.Second),
	})
}

// putTagSettings checks everything that the body asks for before it changes anything. The mode is the first that it
// changes: it is in force even while the database cannot be written.
func (s SettingHandlers) putTagSettings(r *request) (reply, error) {
	tag, err := r.tag()
	if err != nil {
		return reply{}, err
	}
	body, err := decode[api.PutTagSettings](r)
	if err != nil {
		return reply{}, err
	}
	rest := body.FolderRoots != nil || body.AuthorKeys != nil || body.QuietAfter != nil
	if err := missing(map[string]bool{"mode": body.Mode == nil && !rest}); err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	if err := r.who.MayChangeSetting(!rest); err != nil {
		return reply{}, err
	}
	if err := checkTagSettings(body); err != nil {
		return reply{}, err
	}
	out := api.TagSettingsStored{FolderRoots: wireRoots(registry.Roots[tag]),
		AuthorKeys: wireKeys(registry.AuthorKeys[tag]), QuietAfter: int64(registry.TagQuiet[tag] / time.Second)}
	out.Mode = string(registry.TagModes[tag].OrOn())
	if body.Mode != nil {
		out.ModeSwitched, err = s.switchMode(r, *body.Mode, registry.TagModes[tag], func(mode fleet.Mode) error {
			return s.Settings.PutTagMode(r.Context(), tag, mode)
		})
		if err != nil {
			return reply{}, err
		}
	}
	if body.QuietAfter != nil {
		quiet := time.Duration(*body.QuietAfter) * time.Second
		if err := s.Settings.PutTagQuiet(r.Context(), tag, quiet); err != nil {
			return reply{}, err
		}
		out.QuietAfter = *body.QuietAfter
	}
	if err := s.putTagLimits(r.Context(), tag, body, &out); err != nil {
		return reply{}, err
	}
	return show(out)
}

// checkTagSettings refuses a body with any value that cannot be stored.
func checkTagSettings(body api.PutTagSettings) error {
	if body.Mode != nil {
		if _, err := fleet.ParseMode(*body.Mode); err != nil {
			return err
		}
	}
	if body.QuietAfter != nil {
		if _, err := quietFrom(*body.QuietAfter); err != nil {
			return err
		}
	}
	if _, err := fleet.ParseFolderRoots(body.FolderRoots); err != nil {
		return err
	}
	return checkAuthorKeys(body.AuthorKeys)
}

// putTagLimits stores folder roots and author keys, where the body has them.
func (s SettingHandlers) putTagLimits(
	ctx context.Context, tag fleet.Tag, body api.PutTagSettings, out *api.TagSettingsStored,
) error {
	if body.FolderRoots != nil {
		stored, err := s.Limits.PutFolderRoots(ctx, tag, body.FolderRoots, nil)
		if err != nil {
			return err
		}
		out.FolderRoots = wireRoots(stored)
	}
	if body.AuthorKeys != nil {
		stored, err := s.Limits.PutAuthorKeys(ctx, tag, body.AuthorKeys, nil)
		if err != nil {
			return err
		}
		out.AuthorKeys = wireKeys(stored)
	}
	return nil
}

func (s SettingHandlers) getTagProtection(r *request, tag fleet.Tag, registry *fleet.Registry) (reply, error) {
	return show(api.TagProtection{Protected: registry.Protected[tag]})
}

func (s SettingHandlers) putTagProtection(r *request) (reply, error) {
	tag, err := r.tag()
	if err != nil {
		return reply{}, err
	}
	body, err := decode[api.PutTagProtection](r, "protected")
	if err != nil {
		return reply{}, err
	}
	if err := s.Limits.ProtectTag(r.Context(), tag, *body.Protected); err != nil {
		return reply{}, err
	}
	return show(api.TagProtection{Protected: *body.Protected})
}
