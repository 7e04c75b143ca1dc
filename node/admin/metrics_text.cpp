#include "node/admin/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>

namespace quipu {
namespace {

prometheus::MetricType type_of(FigureKind kind) {
  switch (kind) {
    case FigureKind::counter:
      return prometheus::MetricType::Counter;
    case FigureKind::gauge:
      return prometheus::MetricType::Gauge;
    case FigureKind::histogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric metric_of(FigureKind kind, const FigureSample& sample) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
  if (kind == FigureKind::counter) metric.counter.value = sample.value;
  if (kind == FigureKind::gauge) metric.gauge.value = sample.value;
  if (kind != FigureKind::histogram) return metric;
  for (const FigureSample::Bucket& bucket : sample.buckets)
    metric.histogram.bucket.push_back({bucket.count, bucket.most});
  metric.histogram.sample_count = sample.count;  // it adds the bucket of all
  metric.histogram.sample_sum = sample.sum;
  return metric;
}

}  // namespace

std::string metrics_text(const std::vector<FigureFamily>& figures) {
  std::vector<prometheus::MetricFamily> families;
  for (const FigureFamily& family : figures) {
    prometheus::MetricFamily to{family.name, family.help, type_of(family.kind), {}};
    for (const FigureSample& sample : family.samples)
      to.metric.push_back(metric_of(family.kind, sample));
    families.push_back(std::move(to));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace quipu
