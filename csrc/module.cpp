// dynaserve._core: checks what Python passes, then runs the kernels without the GIL.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "dispatch.h"
#include "rows.h"

namespace py = pybind11;
using dynaserve::active_kernels;
using dynaserve::Rows;
using dynaserve::Type;
using std::ptrdiff_t;

namespace {

// ---- arguments ----

std::string text(const py::handle& object) { return py::str(object).cast<std::string>(); }

Type logits_type(const py::dtype& dtype) {
    if (dtype.kind() == 'f' && dtype.attr("isnative").cast<bool>()) {
        switch (dtype.itemsize()) {
            case 2:
                return Type::float16;
            case 4:
                return Type::float32;
            case 8:
                return Type::float64;
        }
    }
    throw py::value_error("logits have dtype " + text(dtype) +
                          "; they must be float16, float32 or float64 in native byte order");
}

// A view of logits (..., k) as rows; holds the row offsets where no single stride reaches them.
class Batch {
  public:
    explicit Batch(const py::array& logits) {
        const ptrdiff_t last = logits.ndim() - 1;
        if (last < 0) throw py::value_error("logits are a single number; they need a class axis");
        const ptrdiff_t classes = logits.shape(last);
        if (classes < 2) {
            throw py::value_error("logits have " + std::to_string(classes) +
                                  " class(es) on their last axis; at least 2 are needed");
        }
        rows_.data = static_cast<const char*>(logits.data());
        rows_.type = logits_type(logits.dtype());
        rows_.classes = classes;
        rows_.class_stride = logits.strides(last);
        rows_.count = 1;
        for (ptrdiff_t axis = 0; axis < last; ++axis) rows_.count *= logits.shape(axis);
        set_row_stride(logits, last);
        constexpr int aligned = py::detail::npy_api::NPY_ARRAY_ALIGNED_;
        rows_.packed = rows_.type == Type::float32 && rows_.class_stride == sizeof(float) &&
                       (logits.flags() & aligned) != 0;
    }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    const Rows& rows() const { return rows_; }

  private:
    void set_row_stride(const py::array& logits, ptrdiff_t last) {
        rows_.row_stride = last > 0 ? logits.strides(last - 1) : 0;
        rows_.offsets = nullptr;
        bool single = true;
        for (ptrdiff_t axis = last - 2; axis >= 0; --axis) {
            single =
                single && logits.strides(axis) == logits.strides(axis + 1) * logits.shape(axis + 1);
        }
        if (single) return;
        offsets_.resize(static_cast<std::size_t>(rows_.count));
        for (ptrdiff_t i = 0; i < rows_.count; ++i) {
            ptrdiff_t left = i, offset = 0;
            for (ptrdiff_t axis = last - 1; axis >= 0; --axis) {
                offset += left % logits.shape(axis) * logits.strides(axis);
                left /= logits.shape(axis);
            }
            offsets_[static_cast<std::size_t>(i)] = offset;
        }
        rows_.offsets = offsets_.data();
    }

    Rows rows_;
    std::vector<ptrdiff_t> offsets_;
};

std::string text(double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", value);
    return buffer;
}

// Far from the ends of float32, in which the kernels work, so that nothing overflows on the way.
constexpr double largest_parameter = 1e30;

double checked(const char* name, double value, double least) {
    if (!(value >= least && value <= largest_parameter)) {
        throw py::value_error(std::string(name) + " is " + text(value) + "; it must be between " +
                              text(least) + " and " + text(largest_parameter));
    }
    return value;
}

dynaserve::DynaNoiseParameters dynanoise_parameters(double base_variance, double sensitivity_scale,
                                                    double temperature, bool preserve_top1) {
    checked("base_variance", base_variance, 0);
    checked("sensitivity_scale", sensitivity_scale, 0);
    checked("temperature", temperature, 1 / largest_parameter);
    const double largest_variance = base_variance * (1 + sensitivity_scale);
    checked("base_variance * (1 + sensitivity_scale)", largest_variance, 0);
    const double largest_noise = 6 * std::sqrt(largest_variance);  // |g| < 6
    checked("the largest noise / temperature", largest_noise / temperature, 0);
    return {static_cast<float>(base_variance), static_cast<float>(sensitivity_scale),
            static_cast<float>(1 / temperature), preserve_top1};
}

constexpr int packed = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;

py::array_t<std::uint32_t, packed> words(const char* name, const py::array& array, ptrdiff_t rows,
                                         ptrdiff_t columns) {
    if (array.ndim() != 2 || array.shape(0) != rows || array.shape(1) != columns) {
        throw py::value_error(std::string(name) + " has shape " + text(array.attr("shape")) +
                              "; it must be (" + std::to_string(rows) + ", " +
                              std::to_string(columns) + "), one row of words per row");
    }
    if (!py::isinstance<py::array_t<std::uint32_t>>(array)) {
        throw py::value_error(std::string(name) + " has dtype " + text(array.dtype()) +
                              "; it must be uint32");
    }
    return py::array_t<std::uint32_t, packed>::ensure(array);
}

// One row of real numbers as float64; of `size` values, or of any number where size is -1.
py::array_t<double, packed> numbers(const char* name, const py::array& array, ptrdiff_t size) {
    if (std::string("fiu").find(array.dtype().kind()) == std::string::npos || array.ndim() != 1 ||
        (size >= 0 && array.size() != size)) {
        throw py::value_error(std::string(name) + " has shape " + text(array.attr("shape")) +
                              " and dtype " + text(array.dtype()) + "; it must be (" +
                              (size < 0 ? "n" : std::to_string(size)) + ",), real numbers");
    }
    return py::array_t<double, packed | py::array::forcecast>::ensure(array);
}

// ---- running ----

std::string row_name(const py::array& logits, ptrdiff_t row) {
    std::string name;
    for (ptrdiff_t axis = logits.ndim() - 2; axis >= 0; --axis) {
        name = std::to_string(row % logits.shape(axis)) + (name.empty() ? "" : ", ") + name;
        row /= logits.shape(axis);
    }
    return name.empty() ? "the row" : "row " + name;
}

// Says what is wrong with a row, and where, without saying what its values are.
[[noreturn]] void refuse_row(const py::array& logits, const Rows& rows, ptrdiff_t row) {
    const char* p = rows.row(row);
    std::string fault = "is -inf in every class; at least one class must be finite";
    for (ptrdiff_t j = 0; j < rows.classes; ++j, p += rows.class_stride) {
        const double x = rows.type == Type::float16   ? dynaserve::Half::read(p)
                         : rows.type == Type::float32 ? dynaserve::Native<float>::read(p)
                                                      : dynaserve::Native<double>::read(p);
        if (std::isnan(x) || x == INFINITY) {
            fault = std::string("holds ") + (std::isnan(x) ? "NaN" : "+inf") + " at class " +
                    std::to_string(j) + "; logits must be finite, or -inf to mask a class";
            break;
        }
        if (x != -INFINITY) fault = "was written to by another thread while it was read";
    }
    throw py::value_error("logits: " + row_name(logits, row) + " " + fault);
}

// How many threads share the rows: no more than asked for, and each with work worth its start.
ptrdiff_t shares_of(const Rows& rows, int threads) {
    if (threads < 1) {
        throw py::value_error("threads is " + std::to_string(threads) + "; it must be at least 1");
    }
    constexpr ptrdiff_t worth_a_thread = 1 << 15;  // logits
    constexpr ptrdiff_t most = 256;
    const ptrdiff_t useful = std::min(rows.count, rows.count * rows.classes / worth_a_thread);
    return std::clamp<ptrdiff_t>(useful, 1, std::min<ptrdiff_t>(threads, most));
}

// Runs kernel(share, begin, end) over all rows; no row's result depends on the split. Returns the
// first bad row, or their count.
template <class Kernel>
ptrdiff_t for_rows(const Rows& rows, ptrdiff_t shares, const Kernel& kernel) {
    const py::gil_scoped_release release;
    if (shares == 1) return kernel(0, 0, rows.count);
    std::vector<ptrdiff_t> stopped(static_cast<std::size_t>(shares));
    const auto edge = [&](ptrdiff_t share) { return rows.count * share / shares; };
    const auto work = [&](ptrdiff_t share) {
        const ptrdiff_t end = edge(share + 1);
        const ptrdiff_t at = kernel(share, edge(share), end);
        stopped[static_cast<std::size_t>(share)] = at < end ? at : rows.count;
    };
    std::vector<std::thread> pool;
    pool.reserve(static_cast<std::size_t>(shares));
    ptrdiff_t share = 1;
    try {
        for (; share < shares; ++share) pool.emplace_back(work, share);
    } catch (const std::system_error&) {
        // no thread to be had: this one does the rest
    }
    for (; share < shares; ++share) work(share);
    work(0);
    for (std::thread& thread : pool) thread.join();
    return *std::min_element(stopped.begin(), stopped.end());
}

std::vector<ptrdiff_t> shape_of(const py::array& logits, ptrdiff_t axes) {
    return {logits.shape(), logits.shape() + axes};
}

py::array_t<float> dynanoise(const py::array& logits, const py::array& row_keys,
                             double base_variance, double sensitivity_scale, double temperature,
                             bool preserve_top1, int threads) {
    const Batch batch(logits);
    const Rows& rows = batch.rows();
    const auto parameters =
        dynanoise_parameters(base_variance, sensitivity_scale, temperature, preserve_top1);
    const auto keys = words("row_keys", row_keys, rows.count, 4);
    py::array_t<float> out(shape_of(logits, logits.ndim()));
    const std::uint32_t* key = keys.data();
    float* p = out.mutable_data();
    const ptrdiff_t shares = shares_of(rows, threads);
    const ptrdiff_t stopped =
        for_rows(rows, shares, [&](ptrdiff_t, ptrdiff_t begin, ptrdiff_t end) {
            return active_kernels().dynanoise(rows, key, parameters, begin, end, p);
        });
    if (stopped < rows.count) refuse_row(logits, rows, stopped);
    return out;
}

py::array_t<float> sensitivity(const py::array& logits, int threads) {
    const Batch batch(logits);
    const Rows& rows = batch.rows();
    py::array_t<float> out(shape_of(logits, logits.ndim() - 1));
    float* r = out.mutable_data();
    const ptrdiff_t shares = shares_of(rows, threads);
    // one staged row per thread, made here because a thread may not throw
    std::vector<float> staged(rows.packed ? 0 : static_cast<std::size_t>(shares * rows.classes));
    const auto run = [&](ptrdiff_t share, ptrdiff_t begin, ptrdiff_t end) {
        float* row = rows.packed ? nullptr : staged.data() + share * rows.classes;
        return active_kernels().sensitivity(rows, begin, end, row, r);
    };
    const ptrdiff_t stopped = for_rows(rows, shares, run);
    if (stopped < rows.count) refuse_row(logits, rows, stopped);
    return out;
}

py::array_t<float> rank_template(const py::array& logits, const py::array& confidence,
                                 const py::array& rank_weights, double tail_weight, int threads) {
    const Batch batch(logits);
    const Rows& rows = batch.rows();
    const bool single = py::isinstance<py::array_t<float, packed>>(confidence) &&
                        confidence.ndim() == 1 && confidence.size() == rows.classes;
    const py::array top = single ? confidence : numbers("confidence", confidence, rows.classes);
    const auto weights = numbers("rank_weights", rank_weights, -1);
    if (weights.size() > dynaserve::RankTemplateParameters::max_ranks) {
        throw py::value_error(
            "rank_weights has " + std::to_string(weights.size()) + " values; at most " +
            std::to_string(dynaserve::RankTemplateParameters::max_ranks) + " are supported");
    }
    for (ptrdiff_t r = 0; r < weights.size(); ++r) checked("rank_weights", weights.data()[r], 0);
    checked("tail_weight", tail_weight, 0);
    py::array_t<float> out(shape_of(logits, logits.ndim()));
    const dynaserve::RankTemplateParameters parameters = {
        {top.data(), single}, weights.data(), weights.size(), tail_weight};
    float* p = out.mutable_data();
    const ptrdiff_t shares = shares_of(rows, threads);
    const ptrdiff_t stopped =
        for_rows(rows, shares, [&](ptrdiff_t, ptrdiff_t begin, ptrdiff_t end) {
            return active_kernels().rank_template(rows, parameters, begin, end, p);
        });
    if (stopped < rows.count) {
        for (ptrdiff_t c = 0; c < rows.classes; ++c) {
            if (!parameters.is_confidence(parameters.confidence[c])) {
                throw py::value_error("confidence holds a value that is not in (0, 1]");
            }
        }
        refuse_row(logits, rows, stopped);
    }
    return out;
}

// ---- for tests ----

py::array_t<std::uint32_t> philox4x32(const py::array& counters, const py::array& keys) {
    const ptrdiff_t n = counters.ndim() > 0 ? counters.shape(0) : 0;
    const auto c = words("counters", counters, n, 4);
    const auto k = words("keys", keys, n, 2);
    py::array_t<std::uint32_t> out({n, ptrdiff_t{4}});
    active_kernels().philox4x32(c.data(), k.data(), n, out.mutable_data());
    return out;
}

py::array_t<float> elementary(const std::string& name, const py::array& x) {
    static const std::vector<std::string> names = {"exp", "log", "sin", "cos"};
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
        throw py::value_error("'" + name + "' is not one of exp, log, sin, cos");
    }
    const bool angle = name == "sin" || name == "cos";
    if (x.ndim() != 1 || x.itemsize() != 4 || x.dtype().kind() != (angle ? 'u' : 'f')) {
        throw py::value_error("x must be one row of " + std::string(angle ? "uint32" : "float32"));
    }
    const auto bits = py::array::ensure(x, py::array::c_style);
    py::array_t<float> out(x.size());
    active_kernels().elementary(static_cast<dynaserve::Elementary>(found - names.begin()),
                                static_cast<const std::uint32_t*>(bits.data()), x.size(),
                                out.mutable_data());
    return out;
}

std::vector<std::string> available_isas() {
    std::vector<std::string> names;
    for (const dynaserve::Kernels& kernels : dynaserve::available_kernels()) {
        names.emplace_back(kernels.name);
    }
    return names;
}

}  // namespace

PYBIND11_MODULE(_core, module) {
    using namespace pybind11::literals;
    active_kernels();  // a wrong DYNASERVE_ISA is an error at import, not at the first query
    module.doc() = "The compiled core of DynaServe; see dynaserve/_core.pyi.";
    module.def("isa", [] { return active_kernels().name; });
    module.def("available_isas", &available_isas);
    module.def("dynanoise", &dynanoise, "logits"_a, "row_keys"_a, "base_variance"_a,
               "sensitivity_scale"_a, "temperature"_a, "preserve_top1"_a = false, py::kw_only(),
               "threads"_a = 1);
    module.def("sensitivity", &sensitivity, "logits"_a, py::kw_only(), "threads"_a = 1);
    module.def("rank_template", &rank_template, "logits"_a, "confidence"_a, "rank_weights"_a,
               "tail_weight"_a, py::kw_only(), "threads"_a = 1);
    module.def("philox4x32", &philox4x32, "counters"_a, "keys"_a);
    module.def("elementary", &elementary, "name"_a, "x"_a);
}
