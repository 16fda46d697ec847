package client

import (
	"context"
	"net/http"
	"net/url"

	"muster/api"
)

// Templates are all templates in the order in which they apply: by priority, then ID; never nil.
func (c *Client) Templates(ctx context.Context, l List) ([]api.Template, error) {
	return list[api.Template](ctx, c, path("templates"), l)
}

// Template is one template.
func (c *Client) Template(ctx context.Context, id int64) (api.Template, error) {
	return get[api.Template](ctx, c, path("templates", number(id)))
}

// TemplateETag is Template with the ETag for IfMatch.
func (c *Client) TemplateETag(ctx context.Context, id int64) (template api.Template, etag string, err error) {
	got, err := c.call(ctx, http.MethodGet, path("templates", number(id)), nil, &template)
	return template, got.header.Get("ETag"), err
}

// CreateTemplate creates a template; the server gives the ID, which is never used again. 422 names what does not
// compile, with line and column. Without a tag it applies to no device.
func (c *Client) CreateTemplate(ctx context.Context, template api.PutTemplate) (api.Template, error) {
	return send[api.Template](ctx, c, http.MethodPost, path("templates"), template)
}

// PutTemplate replaces a template; Op, Key and Template are needed. 404: no template has that ID.
func (c *Client) PutTemplate(ctx context.Context, id int64, template api.PutTemplate,
	conditions ...Condition) (api.Template, error) {
	return send[api.Template](ctx, c, http.MethodPut, path("templates", number(id)), template, conditions...)
}

// DeleteTemplate deletes a template; what it had set returns to what was there before. Again: 404.
func (c *Client) DeleteTemplate(ctx context.Context, id int64, conditions ...Condition) error {
	return c.do(ctx, http.MethodDelete, path("templates", number(id)), nil, conditions...)
}

// TemplateTags are the template's tags, sorted.
func (c *Client) TemplateTags(ctx context.Context, id int64) ([]string, error) {
	return get[[]string](ctx, c, path("templates", number(id), "tags"))
}

// TagTemplate attaches a tag and gives all tags of the template, sorted. The template then applies to every device
// with the tag.
func (c *Client) TagTemplate(ctx context.Context, id int64, tag string, conditions ...Condition) ([]string, error) {
	return send[[]string](ctx, c, http.MethodPut, path("templates", number(id), "tags", tag), nil, conditions...)
}

// UntagTemplate takes a tag off and gives the remaining tags, sorted.
func (c *Client) UntagTemplate(ctx context.Context, id int64, tag string, conditions ...Condition) ([]string, error) {
	return send[[]string](ctx, c, http.MethodDelete, path("templates", number(id), "tags", tag), nil, conditions...)
}

// EvaluateTemplate evaluates a stored template for a device, or, when device is blank, for one that the server picks.
// Nothing is changed. A program that fails is 422, with line, column and traceback.
func (c *Client) EvaluateTemplate(ctx context.Context, id int64, device string) (api.Evaluation, error) {
	return get[api.Evaluation](ctx, c, path("templates", number(id), "evaluate")+query(url.Values{"device": {device}}))
}

// EvaluateNewTemplate is EvaluateTemplate for a template that is not stored.
func (c *Client) EvaluateNewTemplate(ctx context.Context, template api.EvaluateTemplate,
	device string) (api.Evaluation, error) {
	return send[api.Evaluation](
		ctx,
		c,
		http.MethodPost,
		path("templates", "evaluate")+query(url.Values{"device": {device}}),
		template,
	)
}

// Forms are the forms that can be filled in instead of writing a template.
func (c *Client) Forms(ctx context.Context) ([]api.FormKind, error) {
	return get[[]api.FormKind](ctx, c, path("forms"))
}

// ConfigSettings are the fields of Syncthing's configuration that one can set by themselves.
func (c *Client) ConfigSettings(ctx context.Context) ([]api.ConfigSetting, error) {
	return get[[]api.ConfigSetting](ctx, c, path("config-settings"))
}

// WriteForm turns what a person filled in into a template, and gives the change that stores it. Nothing is changed.
func (c *Client) WriteForm(ctx context.Context, form api.WriteForm) (api.WrittenForm, error) {
	return send[api.WrittenForm](ctx, c, http.MethodPost, path("templates", "form"), form)
}

// TemplateForm is the form that a template can be edited as. It has none where the text is not one that a form writes.
func (c *Client) TemplateForm(ctx context.Context, id int64) (api.TemplateForm, error) {
	return get[api.TemplateForm](ctx, c, path("templates", number(id), "form"))
}

// TemplateSaver is who last saved the op, key and text of a template.
func (c *Client) TemplateSaver(ctx context.Context, id int64) (api.TemplateSaver, error) {
	return get[api.TemplateSaver](ctx, c, path("templates", number(id), "saver"))
}

// TemplateVersions are the versions of a template, newest first, without texts.
func (c *Client) TemplateVersions(ctx context.Context, id int64, l List) ([]api.TemplateVersion, error) {
	return list[api.TemplateVersion](ctx, c, path("templates", number(id), "history"), l)
}

// TemplateVersion is the version of a template from a generation on, with its text. 404: that generation did not
// change the template.
func (c *Client) TemplateVersion(ctx context.Context, id, generation int64) (api.TemplateVersionText, error) {
	return get[api.TemplateVersionText](ctx, c, path("templates", number(id), "history", number(generation)))
}
