import { expect } from 'chai';
import { createApp } from '../../api/app.ts';
import { createFilesApp } from '../../api/files/app.ts';

describe('layers of Koa', () => {
  const url = 'http://127.0.0.1:8080';
  const deps = {
    deps: { publicUrl: url },
    settings: { corsOrigins: [], bodyLimitBytes: 1_000_000 },
    corsOrigins: [],
    filesUrl: url,
  } as never;
  const namesOf = ({ middleware }: { middleware: readonly { name: string }[] }) => middleware.map(({ name }) => name);

  it('each have a name for traces', () => {
    expect(namesOf(createApp(deps))).to.deep.equal([
      'requestLog',
      'secureHeaders',
      'cors',
      'errorEnvelope',
      'operations',
      'operatorRoutes',
      'referenceRoutes',
      'rateLimit',
      'unmatched',
    ]);
    expect(namesOf(createFilesApp(deps, deps))).to.deep.equal([
      'requestLog',
      'secureHeaders',
      'cors',
      'methodOverride',
      'errorEnvelope',
      'uploads',
      'downloads',
      'operatorRoutes',
      'unmatched',
    ]);
  });
});
