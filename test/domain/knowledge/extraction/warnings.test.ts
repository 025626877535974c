import { expect } from 'chai';
import { SectionBuilder } from '../../../../domain/knowledge/extraction/sections.ts';

describe('what could not be read of a file', () => {
  it('is told once a kind, with how often and on which pages', () => {
    const into = new SectionBuilder();
    into.startPage(2, false);
    into.warn('picture_without_text');
    into.warn('picture_without_text');
    into.startPage(3, false);
    into.warn('page_is_a_picture');
    into.warn('picture_without_text');
    expect(into.warnings()).to.deep.equal([
      { code: 'page_is_a_picture', count: 1, pages: [3] },
      { code: 'picture_without_text', count: 3, pages: [2, 3] },
    ]);
  });

  it('has no pages where the file has none, and 100 at most', () => {
    const into = new SectionBuilder();
    into.warn('part_skipped');
    expect(into.warnings()).to.deep.equal([{ code: 'part_skipped', count: 1, pages: [] }]);
    for (let page = 1; page <= 150; page++) {
      into.startPage(page, false);
      into.warn('part_skipped');
    }
    const [told] = into.warnings();
    expect(told?.count).to.equal(151);
    expect(told?.pages).to.deep.equal(Array.from({ length: 100 }, (_, at) => at + 1));
  });
});
