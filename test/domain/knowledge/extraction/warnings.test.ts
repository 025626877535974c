import { expect } from 'chai';
import { SectionBuilder } from '../../../../domain/knowledge/extraction/sections.ts';

describe('warnings about content that could not be read', () => {
  it('become one warning for each kind, with the number of cases and the pages', () => {
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

  it('have no pages if the file has no pages, and name at most 100 pages', () => {
    const into = new SectionBuilder();
    into.warn('part_skipped');
    expect(into.warnings()).to.deep.equal([{ code: 'part_skipped', count: 1, pages: [] }]);
    for (let page = 1; page <= 150; page++) {
      into.startPage(page, false);
      into.warn('part_skipped');
    }
    const [warning] = into.warnings();
    expect(warning?.count).to.equal(151);
    expect(warning?.pages).to.deep.equal(Array.from({ length: 100 }, (_, at) => at + 1));
  });
});
