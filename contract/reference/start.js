// Shows the contract in the API reference: read from this service, so that a call that is tried out goes to it too.
const response = await fetch('/v1/openapi.json');
const spec = await response.json();
spec.servers = [{ url: window.location.origin }];
spec.info.description = withClosedConventions(spec.info.description);

window.SwaggerUIBundle({
  spec,
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 4,
  defaultModelRendering: 'example',
  displayRequestDuration: true,
  filter: true,
  syntaxHighlight: { activated: true, theme: 'nord' },
  validatorUrl: null,
});

/** @returns the description with all sections behind a closed summary, so that the page opens with the operations by topic */
function withClosedConventions(description) {
  const [opening, ...sections] = description.split(/^(?=### )/m);
  const text = sections.join('').replace(/^### Conventions\n/, '');
  return `${opening}<details><summary>Conventions</summary>\n\n${text}\n\n</details>\n`;
}
