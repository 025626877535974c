import { expect } from 'chai';
import { readChapter } from '../../bench/retrieval/handbooks/chapter.ts';
import { memberOf } from '../../bench/retrieval/handbooks/obtain.ts';
import { cutPages, markdownOf } from '../../bench/retrieval/handbooks/pages.ts';
import { readTopic } from '../../bench/retrieval/handbooks/topic.ts';
import type { CorpusBlock } from '../../bench/retrieval/corpus.ts';

const paragraph = (text: string): CorpusBlock => ({ kind: 'paragraph', text });
const page = (next: string, body: string) =>
  `<html><head><link rel="next" href="${next}"/></head><body><ul class="docnav"><li>Next</li></ul>${body}</body></html>`;

describe('readChapter', () => {
  const files: Record<string, string> = {
    'knots.html': page(
      'sect.bowline.html',
      `<div class="chapter"><h1>Chapter 3. Knots</h1><div class="toc"><a href="sect.bowline.html">3.1</a></div>
       <div class="para">A knot <em>holds</em>.<a class="indexterm"></a> <div class="url">→ <a>https://knots.example</a></div> More.</div></div>`,
    ),
    'sect.bowline.html': page(
      'splices.html',
      `<div class="section"><h2 class="title">3.1. Bowline</h2><pre>ASCII art</pre>
       <div class="sidebar"><p class="title"><strong>NOTE</strong> Slips</p><div class="para">Not when wet.</div></div>
       <div class="para">Two ways:<div class="itemizedlist"><ul><li><div class="para">by hand</div></li></ul></div></div></div>`,
    ),
    'splices.html': page('end.html', '<div class="chapter"><h1>Chapter 4. Splices</h1></div>'),
  };
  const read = (name: string) => files[name] ?? '';

  it('reads a chapter until the start of the next chapter, without numbers, listings and navigation', () => {
    expect(readChapter('knots', read)).to.deep.equal({
      title: 'Knots',
      blocks: [
        paragraph('A knot holds. → https://knots.example'),
        paragraph('More.'),
        { kind: 'heading', level: 2, text: 'Bowline' },
        { kind: 'label', text: 'NOTE Slips' },
        paragraph('Not when wet.'),
        paragraph('Two ways:'),
        paragraph('by hand'),
      ],
    });
  });
});

describe('readTopic', () => {
  it('reads the title, paragraphs, items and nested elements, and skips conditional content', () => {
    const topic = `<page><info><title>Not this</title></info><title>Tie a knot</title><p>Take a <gui>rope</gui>.</p>
      <if:if test="x"><p>Install</p></if:if><steps><item><title>First</title><p>Make a loop.</p><note><p>Left or right.</p></note></item></steps>
      <section><title>Undo it</title><screen>x</screen><p>Pull.</p></section></page>`;
    expect(readTopic(topic)).to.deep.equal([
      { kind: 'heading', level: 2, text: 'Tie a knot' },
      paragraph('Take a rope.'),
      { kind: 'item', text: 'First Make a loop.' },
      paragraph('Left or right.'),
      { kind: 'heading', level: 3, text: 'Undo it' },
      paragraph('Pull.'),
    ]);
  });
});

describe('cutPages', () => {
  const long = (size: number) => paragraph('x'.repeat(size));
  const section: CorpusBlock = { kind: 'heading', level: 2, text: 'Section' };

  it('ends a page before the block that would make it longer than 3,000 characters', () => {
    expect(cutPages([long(1_500), long(1_400), long(1_000)]).map(({ length }) => length)).to.deep.equal([2, 1]);
  });

  it('ends a page at a section if the page has at least 1,800 characters', () => {
    expect(cutPages([long(1_800), section, long(900)]).map(({ length }) => length)).to.deep.equal([1, 2]);
    expect(cutPages([long(1_700), section, long(900)])).to.have.length(1);
  });

  it('puts a title on the page of its text, and joins a last page below 900 characters to the page before', () => {
    expect(cutPages([long(1_500), section, long(2_000)]).map(({ length }) => length)).to.deep.equal([1, 2]);
    expect(cutPages([long(2_900), long(800)])).to.have.length(1);
  });

  it('writes pages as Markdown', () => {
    expect(markdownOf('Knots', [[section, { kind: 'item', text: 'a' }, { kind: 'item', text: 'b' }]])).to.equal(
      '# Knots\n\n<!-- page 1 -->\n\n## Section\n\n- a\n- b\n',
    );
  });
});

describe('memberOf', () => {
  const member = (name: string, data: string) =>
    `${name.padEnd(48)}${String(data.length).padEnd(10)}\`\n${data}${data.length % 2 ? '\n' : ''}`;
  const archive = Buffer.from(`!<arch>\n${member('debian-binary', '2.0')}${member('data.tar.xz/', 'files')}`);

  it('finds a member of an ar archive that follows a member of odd size', () => {
    expect(memberOf(archive, 'data.tar.xz').toString()).to.equal('files');
  });

  it('throws if the archive has no member with the name', () => {
    expect(() => memberOf(archive, 'control.tar.xz')).to.throw('no member control.tar.xz');
  });
});
