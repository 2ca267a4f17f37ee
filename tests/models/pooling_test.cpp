#include "models/pooling.h"

#include <gtest/gtest.h>

namespace parlance {
namespace {

TEST(PooledRows, AreAllOrTheLast) {
  for (const Pooling pooling : {Pooling::none, Pooling::last}) EXPECT_EQ(n_pooled_rows(pooling, 9), 1);
  for (const Pooling pooling : {Pooling::mean, Pooling::first}) EXPECT_EQ(n_pooled_rows(pooling, 9), 9);
}

TEST(PooledRows, MakeAnEmbedding) {
  const std::vector<float> rows{1, 2, 3, 4, 8, 3};  // three of two values
  using Embedding = std::vector<float>;
  EXPECT_EQ(pooled(Pooling::mean, rows, 2), (Embedding{4, 3}));
  EXPECT_EQ(pooled(Pooling::first, rows, 2), (Embedding{1, 2}));
  EXPECT_EQ(pooled(Pooling::last, rows, 2), (Embedding{8, 3}));
  EXPECT_EQ(pooled(Pooling::none, std::span(rows).last(2), 2), (Embedding{8, 3}));
}

TEST(PooledRows, AMeanOfManyLosesNothing) {
  std::vector<float> rows;
  for (int i = 0; i < 100000; ++i) rows.insert(rows.end(), {16777216.0f, i % 2 == 0 ? 1.0f : 2.0f});
  EXPECT_EQ(pooled(Pooling::mean, rows, 2), (std::vector<float>{16777216.0f, 1.5f}));
}

}  // namespace
}  // namespace parlance
