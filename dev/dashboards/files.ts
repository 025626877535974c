/** Generates deploy/grafana/: one dashboard for each group of panels, for import or provisioning. */
import {
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import { DashboardBuilder, DatasourceVariableBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import { boards, type Panel } from './panels.ts';

/** Grafana replaces this variable. The dashboards name no data source, so any installation can import them. */
const datasource = { type: 'prometheus', uid: '${datasource}' };

/** In columns. A dashboard has 24 columns. */
const width = 8;
const height = 8;

export function dashboardFiles(): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(boards).map(([name, { title, panels }]) => {
      const dashboard = new DashboardBuilder(title)
        .uid(`club-learning-${name}`)
        .tags(['club-learning'])
        .timezone('browser')
        .time({ from: 'now-6h', to: 'now' })
        .refresh('1m')
        .readonly()
        .withVariable(new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'));
      for (const panel of panels) dashboard.withPanel(panelOf(panel));
      return [`${name}.json`, `${JSON.stringify(dashboard.build(), null, 2)}\n`];
    }),
  );
}

function panelOf({ title, unit, queries }: Panel): PanelBuilder {
  const panel = new PanelBuilder()
    .title(title)
    .unit(unit)
    .axisSoftMin(0)
    .datasource(datasource)
    .span(width)
    .height(height)
    .legend(new VizLegendOptionsBuilder().showLegend(true))
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi));
  for (const [at, [expr, legend]] of queries.entries())
    panel.withTarget(
      new DataqueryBuilder()
        .refId(String.fromCodePoint(65 + at))
        .expr(expr)
        .legendFormat(legend)
        .range(),
    );
  return panel;
}
