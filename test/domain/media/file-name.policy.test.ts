import { expect } from 'chai';
import { dispositionOf, nameAs, tidyFileName } from '../../../domain/media/file-name.policy.ts';
import { mediaIdsIn, mostMentions } from '../../../domain/media/uses/mentions.policy.ts';

describe('a file name', () => {
  for (const [given, name] of [
    ['  notes.pdf ', 'notes.pdf'],
    ['re\u0301sume\u0301.pdf', 'résumé.pdf'],
    ['.hidden', '.hidden'],
    ['two words.txt', 'two words.txt'],
    ['...x', '...x'],
  ] as const)
    it(`becomes ${name} if the upload has the name ${JSON.stringify(given)}`, () => {
      expect(tidyFileName(given)).to.equal(name);
    });

  for (const [what, names] of [
    ['empty, or only dots', ['', '   ', '.', '..', ' .... ']],
    ['a path', ['a/b', 'a\\b', '/', '../x']],
    [
      'a control character',
      ['a\u0000b', 'a\nb', 'a\u001fb', 'a\u007fb', 'a\u0080b', 'a\u009fb', 'a\u2028b', 'a\u2029b'],
    ],
    ['a mark that changes the text direction', ['\u200ea', 'a\u200fb', 'a\u202ab', 'a\u202eb', 'a\u2066b', 'a\u2069b']],
  ] as const)
    it(`must not be ${what}`, () => {
      expect(names.map((one) => tidyFileName(one))).to.deep.equal(names.map(() => undefined));
    });

  for (const [name, mime, renamed] of [
    ['talk.mov', 'video/mp4', 'talk.mp4'],
    ['talk.v2.mov', 'video/mp4', 'talk.v2.mp4'],
    ['photo.heics', 'image/jpeg', 'photo.jpg'],
    ['photo.extend', 'image/png', 'photo.extend.png'],
    ['photo', 'image/png', 'photo.png'],
    ['photo.', 'image/png', 'photo..png'],
    ['.mov', 'video/mp4', '.mov.mp4'],
    ['a.b/c', 'video/mp4', 'a.mp4'],
    ['notes.txt', 'text/plain', 'notes.txt'],
  ] as const)
    it(`becomes ${renamed} if ${name} is converted to ${mime}`, () => {
      expect(nameAs(name, mime)).to.equal(renamed);
    });

  for (const [kind, name, header] of [
    ['inline', 'a b.txt', `inline; filename="a b.txt"; filename*=UTF-8''a%20b.txt`],
    ['attachment', 'né.txt', `attachment; filename="n_.txt"; filename*=UTF-8''n%C3%A9.txt`],
    ['attachment', '🪢.txt', `attachment; filename="_.txt"; filename*=UTF-8''%F0%9F%AA%A2.txt`],
    ['attachment', `"\\%~'()*`, `attachment; filename="___~'()*"; filename*=UTF-8''%22%5C%25~%27%28%29%2A`],
  ] as const)
    it(`has the header ${header} for ${name}`, () => {
      expect(dispositionOf(kind, name)).to.equal(header);
    });
});

describe('files that a text names (MED-14)', () => {
  const [one, other] = ['7c9e6679-7425-40de-944b-e07fc1f90ae7', '0b2f3c54-0000-4000-8000-00000000abcd'];

  it('are found once, with ids in lower case and in the order of their first mention', () => {
    const text = `![a](media:${other.toUpperCase()}) MEDIA:${one}, media:${other}.`;
    expect(mediaIdsIn(text)).to.deep.equal([other, one]);
  });

  it('do not include longer words that contain a file name', () => {
    const texts = [`xmedia:${one}`, `-media:${one}`, `media:${one}0`, `media:${one}-`, `media:${one.slice(1)}`, 'none'];
    expect(texts.flatMap((text) => mediaIdsIn(text))).to.deep.equal([]);
  });

  it('are limited to 100 for each text', () => {
    expect(mostMentions).to.equal(100);
  });
});
