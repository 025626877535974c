// Shows the contract in the API reference: read from this service, so that a call that is tried out goes to it too.
const response = await fetch('/v1/openapi.json');
const spec = await response.json();
spec.servers = [{ url: window.location.origin }];

window.SwaggerUIBundle({
  spec,
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 4,
  defaultModelRendering: 'example',
  displayRequestDuration: true,
  filter: true,
  syntaxHighlight: { activated: true, theme: 'nord' },
  validatorUrl: null,
});
